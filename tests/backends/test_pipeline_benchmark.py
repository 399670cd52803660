"""benchmarks/pipeline.py runs, finds both pipelines equal, and writes what it prints. No figure is asserted."""

import json
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "pipeline.py"


@pytest.mark.slow
def test_both_pipelines_agree(tmp_path: Path, detector: Path, segmentor: Path) -> None:
    sample_image = tmp_path / "image.png"
    cv2.imwrite(str(sample_image), np.random.default_rng(0).integers(90, 256, (480, 640, 3)).astype(np.uint8))
    figures = tmp_path / "figures.json"
    command = [sys.executable, SCRIPT, detector, segmentor, "--image", sample_image, "--json", figures]
    done = subprocess.run(
        [*command, "--rounds", "3", "--cold-rounds", "1"], capture_output=True, text=True, check=False
    )
    assert done.returncode in (0, 3), done.stderr
    assert done.stderr == ""
    rows = json.loads(figures.read_text())
    assert [row["figure"] for row in rows] == ["call", "cold_time", "cold_memory"] * 2
    assert all(row["ratio"] > 0 for row in rows)


@pytest.mark.slow
def test_what_is_no_image(tmp_path: Path, detector: Path) -> None:
    command = [sys.executable, SCRIPT, detector, "--image", tmp_path / "none.jpg"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert done.stderr.endswith("none.jpg: cannot be read as an image\n")
