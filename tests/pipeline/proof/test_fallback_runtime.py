"""What stands in for an engine that cannot run here says so."""

import json
from pathlib import Path

import pytest

from backends import load
from backends.tensorrt import running
from pipeline.proof.fallback_runtime import open_deployment
from tests.backends.conftest import PREPROCESS, Recipe, write_deployment
from zoo.manifest_text import manifest_text


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(running, "can_run", lambda backend, device: "there is no NVIDIA driver")
    return write_deployment(tmp_path / "deployment", Recipe(preprocess=PREPROCESS))


def for_engine(folder: Path, stored: str) -> None:
    manifest = json.loads((folder / "deployment.json").read_text())
    manifest |= {"backend": "tensorrt-rtx", "precision": {"stored": stored, "computed": stored}}
    (folder / "deployment.json").write_bytes(manifest_text(manifest))


@pytest.mark.parametrize(
    ("stored", "note"),
    [
        ("fp32", "run by ONNX Runtime in the engine's place"),
        ("fp16", "run by ONNX Runtime in the engine's place, every fp16 result rounded to fp16"),
        ("int8", "run by ONNX Runtime in the engine's place"),
    ],
)
def test_the_stand_in_of_an_engine_is_called_one(folder: Path, stored: str, note: str) -> None:
    for_engine(folder, stored)
    with open_deployment(folder).deployment as model:
        assert model.note == note
        assert repr(model) == f"<Deployment small: detection, tensorrt-rtx {stored}, {note}>"


def test_what_runs_itself_has_no_note(folder: Path) -> None:
    with open_deployment(folder).deployment as model:
        assert model.note is None
        assert repr(model) == repr(load(folder))


@pytest.mark.parametrize("engine", [True, False])
def test_int8_of_an_engine_is_judged_in_floats(folder: Path, engine: bool) -> None:
    """Its weights have 8 bits, with which ONNX Runtime's kernels of whole numbers are wrong on some CPUs."""
    if engine:
        for_engine(folder, "int8")
    opened_one = open_deployment(folder)
    assert ("computed in floats" in (opened_one.note or "")) == engine
    with opened_one.deployment as model:
        options = model.runner._session.get_session_options()  # type: ignore[attr-defined]
        if engine:
            assert options.get_session_config_entry("session.disable_quant_qdq") == "1"
        else:
            with pytest.raises(RuntimeError, match="disable_quant_qdq"):
                options.get_session_config_entry("session.disable_quant_qdq")
