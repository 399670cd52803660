"""benchmarks/regression.py: what its page says of cells that passed, that wait for a GPU, and that failed."""

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

pytestmark = pytest.mark.usefixtures("benchmarks")

MODELS = ("fcn_r18_digits", "resnet18_digits")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with a fake of `zooport regression`: an engine cannot run, and one cell of a model fails."""
    import regression

    def run(config: str, work_dir: Path, jobs: int) -> dict[str, Any]:
        assert (work_dir.name, jobs) == (Path(config).stem, 2)
        missed = {("onnxruntime", "int8"): "metric gate missed"} if work_dir.name == MODELS[1] else {}
        cells = {
            f"{backend} {precision} {exporter}": regression._kept(
                cell(regression, backend, missed.get((backend, precision), "passed"))
            )
            for backend in ("onnxruntime", "tensorrt-rtx")
            for precision in ("fp32", "int8")
            for exporter in ("dynamo", "torchscript")
        }
        return {"made with": "a CPU; sources 1", "cells": cells}

    monkeypatch.setattr(regression, "_run", run)
    return regression


def cell(script: ModuleType, backend: str, state: str) -> dict[str, Any]:
    """As --json has it."""
    on_gpu = backend == "tensorrt-rtx"
    return {
        "state": script.State.UNAVAILABLE if on_gpu else state,
        "reason": "no GPU" if on_gpu else "" if state == "passed" else "mIoU fell",
        "deployment": "cells/x",
        "measured": None if on_gpu else {"difference": -0.02 if state == "passed" else -3.0},
    }


def run_main(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *models: str
) -> tuple[int, str, dict[str, Any]]:
    state, page = tmp_path / "state.json", tmp_path / "page.md"
    flags = ["--jobs", "2", "--state", state, "--page", page, "--work-dir", tmp_path]
    monkeypatch.setattr("sys.argv", ["regression.py", *models, *map(str, flags)])
    return script.main(), page.read_text(encoding="utf-8"), json.loads(state.read_text(encoding="utf-8"))


def test_a_model_at_a_time(script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    code, page, state = run_main(script, monkeypatch, tmp_path, MODELS[0])
    assert (code, list(state)) == (0, [MODELS[0]])
    assert "| fcn_r18_digits | dynamo | -0.020 | -0.020 | built | built |" in page
    assert "8 cells: 4 passed, 4 built." in page
    assert "Not measured yet: " in page
    code, page, state = run_main(script, monkeypatch, tmp_path, MODELS[1])
    assert (code, list(state)) == (3, list(MODELS))
    assert "| resnet18_digits | dynamo | -0.020 | **failed** | built | built |" in page
    assert "- resnet18_digits, onnxruntime int8, torchscript: metric gate missed. mIoU fell" in page


def test_a_model_that_the_matrix_does_not_have_is_refused(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        run_main(script, monkeypatch, tmp_path, "fcn")
    assert ended.value.code == 2
    assert "fcn: not a model of everything.yaml" in capsys.readouterr().err
