"""The code of docs/serving.md runs, with a deployment that has a self-test."""

import runpy
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tests.backends.conftest import add_self_test

DOCS = Path(__file__).parents[2] / "docs"
run_page = runpy.run_path(str(DOCS / "run_page.py"))["run_page"]


def test_the_code_of_the_page_runs(deploy: Callable[..., Path], images: list[np.ndarray]) -> None:
    names = run_page(DOCS / "serving.md", FOLDER=add_self_test(deploy()), image=images[0])
    assert "expected" in names["answer"]["message"]
