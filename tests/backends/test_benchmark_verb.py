"""zooport benchmark: the table, the data, and bad input."""

import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from backends import timing
from zooport.verbs import run_verb


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(timing, "PAUSE", 0)
    path = tmp_path / "image.png"
    cv2.imwrite(str(path), np.full((64, 96, 3), 200, np.uint8))
    return str(path)


def test_two_deployments_side_by_side(
    detector: Path, segmentor: Path, image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "benchmark.json"
    arguments = [str(detector), str(segmentor), "--image", image, "--batch", "2", "--threads", "1", "2"]
    assert run_verb(["benchmark", *arguments, "--rounds", "3", "--json", str(data)]) == 0
    lines = capsys.readouterr().out.splitlines()
    head, *rows = lines[next(number for number, line in enumerate(lines) if line.startswith("deployment")) :]
    assert "images/s" in head
    assert [(row.split()[0], row.split()[1]) for row in rows] == [
        (str(folder), threads) for threads in ("1", "2") for folder in (detector, segmentor)
    ]
    written = json.loads(data.read_text())
    assert [(row["threads"], row["batch"]) for row in written["timings"]] == [(1, 2), (1, 2), (2, 2), (2, 2)]
    assert all(row["p50"] <= row["p90"] <= row["p99"] for row in written["timings"])
    assert written["processor"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rounds", "0"], "--rounds 0: expected 1 or more"),
        (["--threads", "0"], "threads"),
        (["--device", "cdua"], "cdua"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], message: str, detector: Path, image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_verb(["benchmark", str(detector), "--image", image, *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
