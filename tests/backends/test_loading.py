"""backends.load: what is wrong with a folder, and what is said about it."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnxruntime
import pytest

from backends import load
from backends.engine_options import EngineOptions
from backends.onnxruntime import runner as runner_module
from backends.threads import default_threads
from zoo.errors import BackendUnavailableError, InputError
from zoo.manifest_text import manifest_text


def change(folder: Path, **changes: Any) -> Path:
    """Another manifest, as it would have been written."""
    path = folder / "deployment.json"
    path.write_bytes(manifest_text({**json.loads(path.read_bytes()), **changes}))
    return folder


def test_a_folder_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: no such folder; give the folder with deployment.json"):
        load(tmp_path / "nowhere")
    (tmp_path / "model.onnx").touch()
    with pytest.raises(InputError, match=r"model.onnx: is a file; give the folder"):
        load(str(tmp_path / "model.onnx"))
    with pytest.raises(InputError, match=r"no deployment.json; give the folder that zooport deploy wrote"):
        load(tmp_path)


def test_unknown_schema_version(deploy: Callable[..., Path]) -> None:
    with pytest.raises(InputError, match=r"schema_version is 99; this zooport reads version 2"):
        load(change(deploy(), schema_version=99))


def test_a_file_that_changed_after_it_was_hashed(deploy: Callable[..., Path]) -> None:
    folder = deploy()
    content = (folder / "model.onnx").read_bytes()
    (folder / "model.onnx").write_bytes(content.replace(b"small", b"smell"))
    with pytest.raises(InputError, match=r"model.onnx: got sha256 \w{64}, expected \w{64} .* changed after it was dep"):
        load(folder)
    (folder / "model.onnx").write_bytes(content[:-200])
    with pytest.raises(InputError, match=rf"model.onnx: got bytes {len(content) - 200}, expected {len(content)}"):
        load(folder)
    (folder / "model.onnx").unlink()
    with pytest.raises(InputError, match=r"model.onnx: cannot be read \(No such file"):
        load(folder)


def test_backends_that_are_none_or_not_here(deploy: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    folder = deploy()
    with pytest.raises(InputError, match='unknown backend "onnxruntim"; nearest: "onnxruntime"'):
        load(change(folder, backend="onnxruntim"))
    with pytest.raises(InputError, match="backend pytorch runs modules, not folders"):
        load(change(folder, backend="pytorch"))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BackendUnavailableError, match="onnxruntime is not installed; pip install onnxruntime"):
        load(change(folder, backend="onnxruntime"))
    with pytest.raises(BackendUnavailableError, match="backend tensorrt is not available: tensorrt is not installed"):
        load(change(folder, backend="tensorrt"))


def test_a_manifest_without_the_file_that_is_loaded(deploy: Callable[..., Path]) -> None:
    folder = deploy()
    record = json.loads((folder / "deployment.json").read_text())["files"]["model.onnx"]
    with pytest.raises(InputError, match=r"files: no model.onnx"):
        load(change(folder, files={"other.onnx": record}))


def test_a_manifest_that_describes_another_file(deploy: Callable[..., Path]) -> None:
    folder = deploy()
    outputs = json.loads((folder / "deployment.json").read_text())["outputs"]
    outputs[0]["name"] = "count"
    with pytest.raises(InputError, match=r"got the outputs num_dets int64 \[N\].*; expected count int64 \[N\]"):
        load(change(folder, outputs=outputs))


def test_a_manifest_of_a_graph_without_images(deploy: Callable[..., Path]) -> None:
    folder = change(deploy(), inputs=[{"name": "points", "dtype": "float32", "shape": [1, 4]}])
    with pytest.raises(InputError, match=r"expected points float32 \[1, 4\]"):
        load(folder)


def test_provider_and_threads_replace_the_manifests(detector: Path, deploy: Callable[..., Path]) -> None:
    assert load(detector).runner.threads == default_threads()
    assert load(detector, threads=1).runner.threads == 1
    folder = deploy(changes={"threads": 3, "provider": "CPUExecutionProvider"})
    assert load(folder).runner.threads == 3
    assert load(folder).runner.provider == "CPUExecutionProvider"
    with pytest.raises(InputError, match="threads=0: expected an integer from 1 to"):
        load(folder, threads=0)
    with pytest.raises(InputError, match='unknown provider ""'):
        load(folder, provider="")


@pytest.mark.skipif("CUDAExecutionProvider" in onnxruntime.get_available_providers(), reason="this machine has CUDA")
def test_a_deployment_for_a_provider_that_is_not_here(deploy: Callable[..., Path]) -> None:
    folder = deploy(changes={"provider": "cuda:0"})
    with pytest.raises(BackendUnavailableError, match=r"CUDAExecutionProvider is not available .*use provider cpu"):
        load(folder)
    assert load(folder, provider="cpu").runner.provider == "CPUExecutionProvider"


class TestEnginesOfOnnxRuntime:
    @pytest.fixture
    def given(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[tuple[object, ...]]:
        """What sessions are asked for, without a provider of TensorRT, which this machine lacks."""
        asked: list[tuple[object, ...]] = []
        real = runner_module.open_session

        def opened(path: Path, provider: str, threads: int | None, *more: object, **options: object) -> object:
            asked.append((provider, *more))
            return real(path, "cpu", threads)

        monkeypatch.setattr(runner_module, "open_session", opened)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        return asked

    def test_options_and_a_cache_of_their_own_reach_the_provider(
        self, detector: Path, given: list[tuple[object, ...]], tmp_path: Path
    ) -> None:
        small = EngineOptions(workspace_mib=64)
        load(detector, provider="tensorrt")
        load(detector, provider="tensorrt:0", engine=small)
        load(detector, provider="TensorrtExecutionProvider", engine=small)
        load(detector)
        (_, _, _, first), (_, options, profile, second), third, (_, _, _, none) = given
        assert options == small
        assert profile is not None
        assert third == ("TensorrtExecutionProvider", small, profile, second)
        assert none is None
        assert first != second
        for folder in map(Path, map(str, (first, second))):
            assert folder.is_dir()
            assert folder.parent.parent == tmp_path / "cache/zooport"

    def test_a_changed_file_has_a_cache_of_its_own(
        self, deploy: Callable[..., Path], given: list[tuple[object, ...]]
    ) -> None:
        folder = deploy()
        path = folder / "model.onnx"
        load(folder, provider="tensorrt")
        path.write_bytes(path.read_bytes().replace(b"small", b"smell"))
        with pytest.raises(InputError, match="got sha256"):
            load(folder, provider="tensorrt")
        first, second = given
        assert first[-1] != second[-1], "or the engine of the wrong file would be found by the right one"

    def test_without_a_home_each_load_builds(
        self,
        detector: Path,
        given: list[tuple[object, ...]],
        monkeypatch: pytest.MonkeyPatch,
        caplog: pytest.LogCaptureFixture,
    ) -> None:
        monkeypatch.setenv("XDG_CACHE_HOME", "")
        monkeypatch.setenv("HOME", "")
        load(detector, provider="tensorrt-rtx")
        assert given[0][-1] is None
        assert "each load builds it: no folder for the cache" in caplog.text

    def test_options_that_nothing_here_would_take(self, detector: Path) -> None:
        with pytest.raises(InputError, match="engine options with provider cpu: it builds no engine"):
            load(detector, engine=EngineOptions(workspace_mib=64))
        with pytest.raises(InputError, match="cuda_graph with backend onnxruntime, which has no engine"):
            load(detector, cuda_graph=True)


def test_what_was_opened_of_a_changed_file_is_closed(
    deploy: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is opened and hashed at the same time."""
    folder, closed = deploy(), list[object]()

    def close(runner: object) -> None:
        closed.append(runner)

    file = folder / "model.onnx"
    file.write_bytes(file.read_bytes().replace(b"small", b"smell"))
    monkeypatch.setattr(runner_module.OnnxRuntimeRunner, "close", close)
    with pytest.raises(InputError, match="got sha256"):
        load(folder)
    assert len(closed) == 1
