"""zooport benchmark: the tables, the data, the page, baselines that are backends, and bad input."""

import json
import subprocess
import sys
from pathlib import Path

import cv2
import numpy as np
import pytest

from backends.benchmark import bursts
from backends.registry import backends
from pipeline.baselines.registry import baselines
from tests.backends.conftest import rewrite_manifest
from tests.predicting.test_predict import CORE_ALONE, ROOT
from zooport.verbs import run_verb

QUICK = ["--rounds", "2", "--cold", "0"]


@pytest.fixture
def image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(bursts, "PAUSE", 0)
    path = tmp_path / "image.png"
    cv2.imwrite(str(path), np.full((64, 96, 3), 200, np.uint8))
    return str(path)


def test_two_deployments_side_by_side(
    detector: Path, segmentor: Path, image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = tmp_path / "benchmark.json"
    arguments = [
        str(detector),
        str(segmentor),
        "--image",
        image,
        "--batch",
        "2",
        "--threads",
        "1",
        "2",
        "--workers",
        "2",
    ]
    assert run_verb(["benchmark", *arguments, "--rounds", "3", "--cold", "1", "--json", str(data)]) == 0
    out = capsys.readouterr().out
    for word in ("p99 ms", "images/s", "time per image", "preprocessing", "peak memory", "stability: too few rounds"):
        assert word in out
    written = json.loads(data.read_text(encoding="utf-8"))
    assert [(row["subject"], row["threads"]) for row in written["rows"]] == [
        (str(folder), threads) for folder in (detector, segmentor) for threads in (1, 2)
    ]
    for row in written["rows"]:
        assert (row["batch"], row["workers"]) == (2, 2)
        assert row["p50"] <= row["p90"] <= row["p99"]
        assert sum(row["shares"].values()) == pytest.approx(1)
        assert row["cold"]["first"] > row["cold"]["load"] > 0
    assert written["processor"]
    assert written["stability"]["verdict"] == "too few rounds to tell"


def test_a_page_without_anything_from_outside(
    detector: Path, image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "benchmark.html"
    assert run_verb(["benchmark", str(detector), "--image", image, *QUICK, "--page", str(page)]) == 0
    assert f"page: {page}" in capsys.readouterr().out
    text = page.read_text(encoding="utf-8")
    assert "default-src 'none'" in text
    assert text.count('class="plot-data"') == 3
    assert "Too few rounds to tell" in text
    assert " src=" not in text.partition("<main")[2].partition("</main>")[0]


def test_against_another_backend(
    detector: Path, image: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("openvino", reason="needs the extra openvino")
    data = tmp_path / "benchmark.json"
    arguments = [str(detector), "--image", image, "--against", "openvino", "--workers", "2", *QUICK]
    assert run_verb(["benchmark", *arguments, "--json", str(data)]) == 0
    rows = json.loads(data.read_text(encoding="utf-8"))["rows"]
    assert [(row["subject"], row["compared_with"]) for row in rows] == [("openvino", None), (str(detector), 1)]


def test_baselines_are_all_backends_and_what_registers_itself() -> None:
    assert set(backends()) < set(baselines())
    assert all(baseline.name == name and baseline.summary for name, baseline in baselines().items())


def test_the_core_is_enough(detector: Path, image: str) -> None:
    command = [sys.executable, "-c", CORE_ALONE, "benchmark", str(detector), "--image", image, *QUICK]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "time per image" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rounds", "0"], "--rounds 0: expected 1 or more"),
        (["--cold", "-1"], "--cold -1: expected 0 or more"),
        (["--batch", "1", "0"], "--batch 0: expected 1 or more"),
        (["--workers", "0"], "--workers 0: expected 1 or more"),
        (["--threads", "0"], "threads"),
        (["--device", "cdua"], "cdua"),
        (["--against", "pytoch"], 'unknown baseline "pytoch"; nearest: "pytorch"'),
        (["--against", "onnxruntime"], "--against onnxruntime: the deployment is of this backend already"),
        (["--against", "tensorrt"], "--against tensorrt: it builds"),
        (["--config", "a.py"], "--config is for --against"),
        (["--checkpoint", "a.pth"], "--checkpoint is for --against"),
        (["--page", "none/a.html"], "--page none/a.html: not a file in an existing folder"),
        (["--open"], "--open without --page"),
    ],
)
def test_bad_input_is_one_line(
    arguments: list[str], message: str, detector: Path, image: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_verb(["benchmark", str(detector), "--image", image, *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_bad_baselines_are_refused_without_torch(detector: Path, image: str) -> None:
    code = (
        "import sys; from zooport.verbs import run_verb; code = run_verb(sys.argv[1:]);"
        "assert 'torch' not in sys.modules; sys.exit(code)"
    )
    command = [sys.executable, "-c", code, "benchmark", str(detector), "--image", image, "--against", "pytoch"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)


def test_a_lower_precision_has_no_plain_export(deploy: object, image: str, capsys: pytest.CaptureFixture[str]) -> None:
    folder = rewrite_manifest(deploy(), precision={"stored": "fp16", "computed": "fp32"})
    assert run_verb(["benchmark", str(folder), "--image", image, "--against", "plain-export"]) == 2
    assert "name the fp32 deployment first" in capsys.readouterr().err
