"""What stands in for an engine that cannot run here says so."""

import json
from pathlib import Path

import pytest

from backends import load
from pipeline import opened
from pipeline.opened import open_deployment
from tests.backends.conftest import PREPROCESS, Recipe, write_deployment
from zoo.manifest_text import manifest_text


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(opened, "can_run", lambda backend, device: "there is no NVIDIA driver")
    return write_deployment(tmp_path / "deployment", Recipe(preprocess=PREPROCESS))


@pytest.mark.parametrize(
    ("stored", "note"),
    [
        ("fp32", "run by ONNX Runtime in the engine's place"),
        ("fp16", "run by ONNX Runtime in the engine's place, every fp16 result rounded to fp16"),
    ],
)
def test_the_stand_in_of_an_engine_is_called_one(folder: Path, stored: str, note: str) -> None:
    manifest = json.loads((folder / "deployment.json").read_text())
    manifest |= {"backend": "tensorrt-rtx", "precision": {"stored": stored, "computed": stored}}
    (folder / "deployment.json").write_bytes(manifest_text(manifest))
    with open_deployment(folder).deployment as model:
        assert model.note == note
        assert repr(model) == f"<Deployment small: detection, tensorrt-rtx {stored}, {note}>"


def test_what_runs_itself_has_no_note(folder: Path) -> None:
    with open_deployment(folder).deployment as model:
        assert model.note is None
        assert repr(model) == repr(load(folder))
