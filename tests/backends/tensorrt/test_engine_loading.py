"""backends.load of a deployment with an engine: what is checked before the engine is, and what is said."""

import json
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from backends import gpu, loading
from backends.engine_options import EngineOptions
from backends.gpu import Gpu
from backends.runner import Runner
from backends.tensorrt import engine_record, runner, running
from backends.tensorrt import library as library_module
from tests.backends.conftest import PREPROCESS, Recipe, write_deployment
from zoo.errors import BackendUnavailableError, InputError
from zoo.manifest import file_record
from zoo.manifest_text import manifest_text
from zoo.opened_file import OpenedFile

NAMES = ("model.onnx", "model.engine", "model.engine.json")


@pytest.fixture
def engine_deployment(tmp_path: Path) -> Callable[..., Path]:
    """engine_deployment(options=..., library_version=...) -> a folder with an engine that is none, and its record."""

    def make(**changes: Any) -> Path:
        folder = write_deployment(tmp_path / "deployment", Recipe(preprocess=PREPROCESS))
        (folder / "model.engine").write_bytes(b"plan")
        fields: dict[str, Any] = {
            "backend": "tensorrt-rtx",
            "library_version": "1.7.1.116",
            "device": None,
            "precision": "fp32",
            "options": EngineOptions(),
            "profiles": (),
            "values": {},
            "layers": {"float32": 3},
            "onnx_sha256": file_record(folder / "model.onnx")["sha256"],
            "plan_sha256": file_record(folder / "model.engine")["sha256"],
            "bytes": 4,
        }
        engine_record.EngineRecord(**{**fields, **changes}).write(folder / "model.engine.json")
        manifest = json.loads((folder / "deployment.json").read_text())
        manifest |= {
            "backend": "tensorrt-rtx",
            "files": {name: file_record(folder / name) for name in NAMES},
            "parity": {"verdict": "engine-not-run"},
        }
        (folder / "deployment.json").write_bytes(manifest_text(manifest))
        return folder

    return make


@pytest.fixture(autouse=True)
def rtx_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with tensorrt_rtx and a GPU; the runner alone is missing."""
    monkeypatch.setattr(loading, "require", lambda backend: None)
    monkeypatch.setattr(library_module, "library", lambda backend: SimpleNamespace(__version__="1.7.1.116"))
    monkeypatch.setattr(gpu, "gpu", lambda number: Gpu("NVIDIA RTX 4090", "8.9"))
    monkeypatch.setattr(running, "can_run", lambda backend, device: None)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """What runners were made with."""
    made: list[dict[str, Any]] = []

    class Opened(Runner):
        def __init__(self, plan: OpenedFile, inputs: Any, outputs: Any, axes: Any, **options: Any) -> None:
            super().__init__(inputs, outputs, axes, options["defaults"])
            made.append({"path": plan.path.name, **options})

        def _run(self, arrays: Any) -> Any:
            raise NotImplementedError

        def _release(self) -> None: ...

    monkeypatch.setattr(runner, "TensorRTRunner", Opened)
    return made


def test_what_the_runner_is_given(engine_deployment: Callable[..., Path], opened: list[dict[str, Any]]) -> None:
    folder = engine_deployment()
    model = loading.load(folder)
    assert [spec.name for spec in model.runner.inputs] == ["images"]
    loading.load(folder, provider="cuda:1")
    loading.load(engine_deployment(options=EngineOptions(version_compatible=True)))
    loading.load(engine_deployment(), cuda_graph=True)
    shared = {"path": "model.engine", "backend": "tensorrt-rtx", "defaults": {}, "cuda_graph": False}
    assert opened == [
        {**shared, "device": "cuda:0", "host_code": False},
        {**shared, "device": "cuda:1", "host_code": False},
        {**shared, "device": "cuda:0", "host_code": True},
        {**shared, "device": "cuda:0", "host_code": False, "cuda_graph": True},
    ]
    with pytest.raises(InputError, match="its engine is built already; leave engine out"):
        loading.load(folder, engine=EngineOptions(workspace_mib=64))


def test_where_the_engine_cannot_run(
    engine_deployment: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, opened: list[dict[str, Any]]
) -> None:
    monkeypatch.setattr(running, "can_run", lambda backend, device: "there is no NVIDIA driver")
    monkeypatch.setattr(gpu, "gpu", lambda number: None)
    with pytest.raises(BackendUnavailableError) as caught:
        loading.load(engine_deployment())
    assert str(caught.value).endswith(
        "deployment: its engine of tensorrt-rtx (parity: engine-not-run) cannot run here: there is no NVIDIA driver; "
        "load it where it can, or deploy the model again with --backend onnxruntime, which runs model.onnx"
    )
    assert not opened


def test_a_changed_file_is_the_better_message(
    engine_deployment: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(running, "can_run", lambda backend, device: "there is no NVIDIA driver")
    for name in NAMES:
        folder = engine_deployment()
        content = (folder / name).read_bytes()
        (folder / name).write_bytes(content[:-1] + b"x")
        with pytest.raises(InputError, match=rf"{name}: got sha256 \w+, expected \w+ .* changed after it was deployed"):
            loading.load(folder)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"library_version": "1.6.0.5"}, "built by tensorrt-rtx 1.6.0.5, and this is 1.7.1.116"),
        ({"backend": "tensorrt"}, "an engine of tensorrt, which tensorrt-rtx cannot load"),
        (
            {"options": EngineOptions(compute_capabilities=("12.0",))},
            "built for compute capability 12.0, and this GPU has 8.9",
        ),
    ],
)
def test_a_foreign_engine(engine_deployment: Callable[..., Path], changes: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=rf"model.engine: {words}; .*zooport deploy CONFIG --backend"):
        loading.load(engine_deployment(**changes))


@pytest.mark.parametrize("name", NAMES)
def test_a_manifest_without_a_file(engine_deployment: Callable[..., Path], name: str) -> None:
    folder = engine_deployment()
    manifest = json.loads((folder / "deployment.json").read_text())
    del manifest["files"][name]
    (folder / "deployment.json").write_bytes(manifest_text(manifest))
    with pytest.raises(InputError, match=rf"files: no {name}, which backend tensorrt-rtx loads"):
        loading.load(folder)


def test_a_provider_that_is_no_gpu(engine_deployment: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match='device "cpu": TensorRT runs on CUDA devices'):
        loading.load(engine_deployment(), provider="cpu")
