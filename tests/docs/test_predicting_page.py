"""The code of docs/predicting.md runs on a small deployment, a folder of images and a video."""

import runpy
from pathlib import Path

import cv2
import numpy as np
import pytest

from tests.backends.conftest import Recipe, write_deployment
from tests.zoo.sources.videos import write_video

DOCS = Path(__file__).parents[2] / "docs"
run_page = runpy.run_path(str(DOCS / "run_page.py"))["run_page"]


def test_the_code_of_the_page_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    write_deployment(tmp_path / "deployed/shapes", Recipe(batch=1))
    (tmp_path / "photos/more").mkdir(parents=True)
    cv2.imwrite("photos/bright.png", np.full((64, 96, 3), 200, np.uint8))
    Path("photos/more/bad.png").write_bytes(b"no image")
    write_video(Path("street.avi"), frames=5)
    names = run_page(DOCS / "predicting.md")
    assert names["frames"] == list(range(5))
    printed = capsys.readouterr().out
    assert "photos/bright.png <DetectionResult: 4 objects" in printed
    assert "image photos/more/bad.png: not an image that can be read" in printed
    (said,) = (
        line for line in (DOCS / "predicting.md").read_text(encoding="utf-8").splitlines() if "print(result)" in line
    )
    assert said.partition("# ")[2] in printed.splitlines()
