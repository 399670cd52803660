"""The ONNX Runtime runner: files, providers, threads, memory."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper

from backends.engine_options import EngineOptions
from backends.onnxruntime.placement import nodes_on_cpu
from backends.onnxruntime.providers import provider_options
from backends.onnxruntime.runner import OnnxRuntimeRunner
from backends.self_test.proof import warn_once
from zoo.errors import BackendUnavailableError, ExportError, InputError
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

ALL = ["CUDAExecutionProvider", "CPUExecutionProvider"]
TENSORRT, RTX = "TensorrtExecutionProvider", "NvTensorRTRTXExecutionProvider"


def one_node(
    path: Path, operator: str, domain: str = "", opset: int = 20, shape: tuple[int | str, ...] = ("N", 3)
) -> Path:
    """A file with one operator on x float32 of this shape."""
    graph = helper.make_graph(
        [helper.make_node(operator, ["x"], ["y"], domain=domain)],
        "one",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, shape)],
    )
    opsets = [helper.make_opsetid("", opset)] + ([helper.make_opsetid(domain, 1)] if domain else [])
    path.write_bytes(helper.make_model(graph, opset_imports=opsets, ir_version=10).SerializeToString())
    return path


def test_specs_come_from_the_file(tmp_path: Path) -> None:
    runner = OnnxRuntimeRunner(one_node(tmp_path / "relu.onnx", "Relu"))
    assert runner.inputs == (TensorSpec("x", "float32", ("N", 3)),)
    assert runner.outputs == (TensorSpec("y", "float32", ("N", 3)),)


@pytest.mark.parametrize(("spin", "microseconds"), [(True, None), (False, "500")])
def test_how_long_idle_threads_look_for_work(tmp_path: Path, spin: bool, microseconds: str | None) -> None:
    runner = OnnxRuntimeRunner(one_node(tmp_path / "relu.onnx", "Relu"), threads=2, spin=spin)
    options = runner._session.get_session_options()  # type: ignore[union-attr]
    name = "session.intra_op.spin_duration_us"
    if microseconds is None:
        with pytest.raises(RuntimeError, match=name):  # ONNX Runtime's own default
            options.get_session_config_entry(name)
    else:
        assert options.get_session_config_entry(name) == microseconds


@pytest.mark.parametrize(
    ("shape", "shared", "pattern"),
    [
        (("batch", 3), True, True),
        (("batch", 3), False, False),
        (("batch", "width"), True, False),  # a pattern for each size would take memory
    ],
)
def test_calls_side_by_side_have_a_pattern_of_memory_for_inputs_of_one_size(
    tmp_path: Path, shape: tuple[int | str, ...], shared: bool, pattern: bool
) -> None:
    path = one_node(tmp_path / "relu.onnx", "Relu", shape=shape)
    inputs, outputs = ([TensorSpec(name, "float32", shape)] for name in "xy")
    axes = {side: AxisRange(1, 2, 8) for side in shape if isinstance(side, str)}
    runner = OnnxRuntimeRunner(path, inputs, outputs, axes, shared=shared)
    options = runner._session.get_session_options()  # type: ignore[union-attr]
    assert (options.enable_mem_pattern, options.enable_mem_reuse) == (pattern, False)


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
    with pytest.raises(InputError, match=r"threads=.*expected an integer from 1 to 1024"):
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
    chosen = {"use_tf32": "0", "cudnn_conv_algo_search": "HEURISTIC"}
    assert provider_options("cuda") == (ALL[0], {"device_id": "0"} | chosen)
    assert provider_options("cuda:1") == (ALL[0], {"device_id": "1"} | chosen)
    with pytest.raises(InputError, match='provider "cuda:x": expected a device number'):
        provider_options("cuda:x")


def test_tensorrts_options_are_the_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [TENSORRT, RTX])
    engine = EngineOptions(workspace_mib=512, optimization_level=4, hardware_compatible=True)
    profile = {"images": ((1, 3, 32, 32), (2, 3, 64, 64), (8, 3, 96, 96)), "image_sizes": ((1, 2), (2, 2), (8, 2))}
    assert provider_options("tensorrt:1", engine, profile, "cache") == (
        TENSORRT,
        {
            "device_id": "1",
            "trt_max_workspace_size": str(512 * 2**20),
            "trt_builder_optimization_level": "4",
            "trt_engine_hw_compatible": "1",
            "trt_profile_min_shapes": "images:1x3x32x32,image_sizes:1x2",
            "trt_profile_opt_shapes": "images:2x3x64x64,image_sizes:2x2",
            "trt_profile_max_shapes": "images:8x3x96x96,image_sizes:8x2",
            "trt_engine_cache_enable": "1",
            "trt_engine_cache_path": "cache",
            "trt_timing_cache_enable": "1",
            "trt_timing_cache_path": "cache",
        },
    )
    assert provider_options("tensorrt-rtx", EngineOptions(workspace_mib=1), profile, "cache") == (
        RTX,
        {
            "device_id": "0",
            "nv_max_workspace_size": str(2**20),
            "nv_profile_min_shapes": "images:1x3x32x32,image_sizes:1x2",
            "nv_profile_opt_shapes": "images:2x3x64x64,image_sizes:2x2",
            "nv_profile_max_shapes": "images:8x3x96x96,image_sizes:8x2",
            "nv_runtime_cache_path": "cache",
        },
    )
    for provider in ("tensorrt", "tensorrt-rtx", TENSORRT, RTX):
        assert provider_options(provider)[1] == {"device_id": "0"}
    assert (
        "trt_timing_cache_enable" not in provider_options("tensorrt", EngineOptions(timing_cache=False), cache="c")[1]
    )


@pytest.mark.parametrize(
    ("provider", "option"),
    [
        ("tensorrt", {"version_compatible": True}),
        ("tensorrt", {"refittable": True}),
        ("tensorrt", {"batches": (1,)}),
        ("tensorrt-rtx:0", {"optimization_level": 1}),
        ("tensorrt-rtx", {"hardware_compatible": True}),
        ("tensorrt-rtx", {"compute_capabilities": ("8.9",)}),
    ],
)
def test_an_engine_option_that_a_provider_has_not_is_an_error(
    monkeypatch: pytest.MonkeyPatch, provider: str, option: dict[str, Any]
) -> None:
    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [TENSORRT, RTX])
    words = (
        rf"engine option {next(iter(option))}=.*: ONNX Runtime's provider {provider} has no such option; leave it out"
    )
    with pytest.raises(InputError, match=words):
        provider_options(provider, EngineOptions(**option))


@pytest.mark.skipif(TENSORRT in onnxruntime.get_available_providers(), reason="this onnxruntime has TensorRT")
def test_providers_that_the_cpus_wheel_lacks() -> None:
    with pytest.raises(
        BackendUnavailableError, match=r"TensorrtExecutionProvider is not available in onnxruntime 1\..*"
    ):
        provider_options("tensorrt:0")
    with pytest.raises(
        BackendUnavailableError,
        match=rf"provider {RTX} is not available .*an onnxruntime below 1\.32 that is built with it",
    ):
        provider_options("tensorrt-rtx")
    with pytest.raises(BackendUnavailableError, match="use provider cpu, or an onnxruntime built with QNN"):
        provider_options("QNNExecutionProvider")


def test_the_profile_comes_from_inputs_and_axes(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    seen: dict[str, Any] = {}
    session = onnxruntime.InferenceSession

    def without_tensorrt(path: str, settings: Any, **options: Any) -> onnxruntime.InferenceSession:
        seen.update(options["provider_options"][0])
        return session(path, settings, providers=ALL[1:])

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: [TENSORRT])
    monkeypatch.setattr(onnxruntime, "InferenceSession", without_tensorrt)
    path = one_node(tmp_path / "m.onnx", "Relu")
    specs = [TensorSpec("x", "float32", ("N", 3))]
    with pytest.raises(
        BackendUnavailableError, match="TensorrtExecutionProvider could not be started: it runs on CPUEx"
    ):
        OnnxRuntimeRunner(path, iter(specs), axes={"N": AxisRange(1, 2, 4)}, provider="tensorrt")
    assert seen["trt_profile_max_shapes"] == "x:4x3"


def test_a_provider_that_takes_no_node_is_an_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    session = onnxruntime.InferenceSession

    class Claims(session):  # type: ignore[misc,valid-type]
        """Runs on the CPU, and says that CUDA is there."""

        def __init__(self, path: str, settings: Any, **_: Any) -> None:
            super().__init__(path, settings, providers=ALL[1:])

        def get_providers(self) -> list[str]:
            return ALL

    monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ALL)
    monkeypatch.setattr(onnxruntime, "InferenceSession", Claims)
    words = (
        r"m.onnx: provider CUDAExecutionProvider runs none of its nodes, and all would silently run on CPUExecutionProv"
    )
    with pytest.raises(ExportError, match=words):
        OnnxRuntimeRunner(one_node(tmp_path / "m.onnx", "Relu"), provider="cuda")


class TestNodesOnTheCpu:
    """ONNX Runtime's own record of a session on the CPU, beside a node that CUDA is said to have taken."""

    @pytest.fixture
    def claims(self, monkeypatch: pytest.MonkeyPatch) -> None:
        session = onnxruntime.InferenceSession

        class Claims(session):  # type: ignore[misc,valid-type]
            def __init__(self, path: str, settings: Any, **_: Any) -> None:
                super().__init__(path, settings, providers=ALL[1:])

            def get_providers(self) -> list[str]:
                return ALL

            def get_provider_graph_assignment_info(self) -> list[Any]:
                on_cuda = SimpleNamespace(ep_name=ALL[0], get_nodes=lambda: [SimpleNamespace(op_type="Conv", name="c")])
                return [on_cuda, *super().get_provider_graph_assignment_info()]

        monkeypatch.setattr(onnxruntime, "get_available_providers", lambda: ALL)
        monkeypatch.setattr(onnxruntime, "InferenceSession", Claims)
        warn_once.cache_clear()

    @pytest.mark.usefixtures("claims")
    def test_are_named_once(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        path = one_node(tmp_path / "m.onnx", "Relu")
        for _ in range(2):
            OnnxRuntimeRunner(path, provider="cuda").close()
        [record] = caplog.records
        assert record.levelname == "WARNING"
        assert "CUDAExecutionProvider has no kernel for some nodes, which run on the CPU" in record.message
        assert "each run: 1 Relu (" in record.message

    @pytest.mark.usefixtures("claims")
    def test_but_for_those_that_compute_sizes(self, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
        OnnxRuntimeRunner(one_node(tmp_path / "m.onnx", "Identity"), provider="cuda").close()
        assert caplog.records == []

    def test_at_most_three_of_an_operator_are_named(self) -> None:
        nodes = [SimpleNamespace(op_type="GridSample", name=f"g{number}") for number in range(5)]
        recorded = SimpleNamespace(ep_name=ALL[1], get_nodes=lambda: nodes)
        session = SimpleNamespace(get_provider_graph_assignment_info=lambda: [recorded])
        assert nodes_on_cpu(session) == {"GridSample": ["g0", "g1", "g2", "g3", "g4"]}


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
