"""The code of docs/ray.md runs on the results of a block."""

import json
import runpy
from pathlib import Path

import cv2
import numpy as np
import pytest

from backends.scale.inputs import find_inputs
from backends.scale.predictor import BlockPredictor, PredictionJob
from backends.scale.shipped import ShippedDeployment, deployment_contents
from tests.backends.conftest import Recipe, write_deployment
from zoo.input_kinds import input_kind

DOCS = Path(__file__).parents[2] / "docs"
run_page = runpy.run_path(str(DOCS / "run_page.py"))["run_page"]


def test_the_code_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    deployment = write_deployment(tmp_path / "deployed", Recipe(batch=1))
    Path("results.parquet").mkdir()
    cv2.imwrite("bright.png", np.full((64, 96, 3), 200, np.uint8))
    Path("bad.png").write_bytes(b"no image")
    job = PredictionJob(ShippedDeployment("deployed", deployment_contents(deployment)[1]), "results.parquet")
    inputs = find_inputs(["bright.png", "bad.png"], input_kind("image"), recursive=False)
    BlockPredictor(job, dict)({"block": [0], "inputs": [json.dumps(inputs)]})
    run_page(DOCS / "ray.md")
    printed = capsys.readouterr().out
    assert "bright.png 4\n" in printed
    assert "bad.png image bad.png: not an image" in printed
