"""The ONNX Runtime runner: files, providers, threads, memory."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from backends.onnxruntime import OnnxRuntimeRunner
from backends.onnxruntime.providers import provider_options
from zoo.errors import BackendUnavailableError, ExportError, InputError
from zoo.tensor_spec import TensorSpec

ALL = ["CUDAExecutionProvider", "CPUExecutionProvider"]


def one_node(path: Path, operator: str, domain: str = "", opset: int = 20) -> Path:
    """A file with one operator on x float32 [N, 3]."""
    graph = helper.make_graph(
        [helper.make_node(operator, ["x"], ["y"], domain=domain)],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])],
    )
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())
    return path


def test_specs_come_from_the_file(tmp_path: Path) -> None:
    runner = OnnxRuntimeRunner(one_node(tmp_path / "relu.onnx", "Relu"))
    assert runner.inputs == (TensorSpec("x", "float32", ("N", 3)),)
    assert runner.outputs == (TensorSpec("y", "float32", ("N", 3)),)


def test_outputs_are_the_callers_and_inputs_are_not_kept(tmp_path: Path) -> None:
    runner = OnnxRuntimeRunner(one_node(tmp_path / "identity.onnx", "Identity"))
    given = np.ones((2, 3), np.float32)
    first = runner.run({"x": given})["y"]
    assert not np.shares_memory(first, given)
    given[:] = 5
    second = runner.run({"x": given})["y"]
    second[:] = 9
    np.testing.assert_array_equal(first, np.ones((2, 3)))
    np.testing.assert_array_equal(given, np.full((2, 3), 5))


@pytest.mark.parametrize("content", [b"", b"hello" * 20, None], ids=["empty", "text", "truncated"])
def test_damaged_files_are_named(tmp_path: Path, content: bytes | None) -> None:
    path = one_node(tmp_path / "broken.onnx", "Relu")
    path.write_bytes(path.read_bytes()[:40] if content is None else content)
    with pytest.raises(InputError, match=r"broken.onnx: not an ONNX model, or a damaged one \(\d+ bytes"):
        OnnxRuntimeRunner(path)


def test_missing_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.onnx: no such file"):
        OnnxRuntimeRunner(tmp_path / "none.onnx")


@pytest.mark.parametrize(
    ("node", "words"),
    [(("Foo", "", 20), "Foo"), (("Foo", "zooport", 20), "zooport:Foo.*not a registered"), (("Relu", "", 99), "opset")],
)
def test_refused_models_say_why(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], node: tuple[str, str, int], words: str
) -> None:
    path = one_node(tmp_path / "strange.onnx", *node)
    with pytest.raises(
        ExportError, match=rf"strange.onnx: ONNX Runtime {onnxruntime.__version__} refuses it: .*{words}"
    ):
        OnnxRuntimeRunner(path)
    assert capfd.readouterr() == ("", ""), "ONNX Runtime is silent: the message is in the error"


def test_a_run_that_fails_names_the_inputs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    graph = helper.make_graph(
        [helper.make_node("Reshape", ["x", "shape"], ["y"])],
        "reshape",
        [
            helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 3]),
            helper.make_tensor_value_info("shape", TensorProto.INT64, [2]),
        ],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
    )
    path = tmp_path / "reshape.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    runner = OnnxRuntimeRunner(path)
    with pytest.raises(ExportError, match=r"ONNX Runtime stopped at inputs x \[2, 3\], shape \[2\]: .*Reshape"):
        runner.run({"x": np.ones((2, 3), np.float32), "shape": np.array([4, 4])})
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("threads", [0, -1, True, 1.5, "2"])
def test_wrong_threads(tmp_path: Path, threads: Any) -> None:
    with pytest.raises(InputError, match=r"threads=.*expected a whole number, 1 or more"):
        OnnxRuntimeRunner(one_node(tmp_path / "m.onnx", "Relu"), threads=threads)


def test_provider_names() -> None:
    assert provider_options("cpu") == ("CPUExecutionProvider", {})
    assert provider_options("CPUExecutionProvider") == ("CPUExecutionProvider", {})
    with pytest.raises(InputError, match='unknown provider "gpu"; nearest: '):
        provider_options("gpu")
    with pytest.raises(InputError, match='provider "cpu:0": expected a device number after "cuda:"'):
        provider_options("cpu:0")


def test_cuda_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ALL)
    assert provider_options("cuda") == (ALL[0], {"device_id": "0", "use_tf32": "0"})
    assert provider_options("cuda:1") == (ALL[0], {"device_id": "1", "use_tf32": "0"})
    with pytest.raises(InputError, match='provider "cuda:x": expected a device number'):
        provider_options("cuda:x")


def test_a_provider_that_is_missing_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ALL[1:])
    with pytest.raises(
        BackendUnavailableError,
        match=r"CUDAExecutionProvider is not available .*\(available: CPUExecutionProvider\); use provider cpu, or pip "
        "install onnxruntime-gpu",
    ):
        OnnxRuntimeRunner(one_node(tmp_path / "m.onnx", "Relu"), provider="cuda")


def test_a_provider_that_is_silently_not_used_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    session = onnxruntime.InferenceSession

    def without_cuda(path: str, settings: Any, **options: Any) -> onnxruntime.InferenceSession:
        assert options["providers"] == ALL[:1]
        return session(path, settings, providers=ALL[1:])

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ALL)
    monkeypatch.setattr(onnxruntime, "InferenceSession", without_cuda)
    with pytest.raises(
        BackendUnavailableError, match="CUDAExecutionProvider could not be started: it runs on CPUExecutionProvider"
    ):
        OnnxRuntimeRunner(one_node(tmp_path / "m.onnx", "Relu"), provider="cuda")


def test_a_provider_whose_libraries_are_missing_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise RuntimeError("CUDAExecutionProvider: libcudnn.so.9: cannot open shared object file")

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ALL)
    monkeypatch.setattr(onnxruntime, "InferenceSession", fails)
    with pytest.raises(BackendUnavailableError, match=r"could not be started: .*libcudnn.*install the libraries"):
        OnnxRuntimeRunner(one_node(tmp_path / "m.onnx", "Relu"), provider="cuda:0")


def test_closing_twice_is_harmless(tmp_path: Path) -> None:
    runner = OnnxRuntimeRunner(one_node(tmp_path / "m.onnx", "Relu"))
    with runner as same:
        assert same is runner
    runner.close()
    with pytest.raises(InputError, match="runner is closed"):
        runner.run({"x": np.ones((1, 3), np.float32)})
