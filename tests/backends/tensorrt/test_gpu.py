"""Engines on a GPU, for real: runs only where a CUDA device, its driver, cuda-python and TensorRT are."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from backends import load
from backends.engine_options import EngineOptions
from backends.gpu import gpu
from backends.loading import load_graph
from backends.onnxruntime.runner import OnnxRuntimeRunner
from backends.tensorrt.build import build_engine
from backends.tensorrt.engine_record import EngineRecord
from backends.tensorrt.runner import TensorRTRunner
from backends.tensorrt.running import can_run
from tests.backends.conftest import Recipe, write_deployment
from zoo.errors import ExportError, InputError
from zoo.manifest import Manifest, file_record
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

BACKENDS = ("tensorrt", "tensorrt-rtx")
REASONS = {backend: can_run(backend) for backend in BACKENDS}
pytestmark = [
    pytest.mark.gpu,
    pytest.mark.skipif(None not in REASONS.values(), reason="; ".join(f"{b}: {r}" for b, r in REASONS.items())),
]
X = TensorSpec("images", "float32", ("N", 3))
Y = TensorSpec("y", "float32", ("N", 3))
WHERE = TensorSpec("where", "int64", (2, "F"))
AXES = {"N": AxisRange(1, 2, 4)}


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    if REASONS[request.param] is not None:
        pytest.skip(f"{request.param}: {REASONS[request.param]}")
    return str(request.param)


def model(path: Path, *, finds: bool) -> Path:
    """y = 2 images + 1; and, with `finds`, where images is not zero."""
    nodes = [helper.make_node("Mul", ["images", "two"], ["m"]), helper.make_node("Add", ["m", "one"], ["y"])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["N", 3])]
    if finds:
        nodes.append(helper.make_node("NonZero", ["images"], ["where"]))
        outputs.append(helper.make_tensor_value_info("where", TensorProto.INT64, [2, "F"]))
    constants = [helper.make_tensor(name, TensorProto.FLOAT, [], [n]) for name, n in (("two", 2.0), ("one", 1.0))]
    inputs = [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["N", 3])]
    graph = helper.make_graph(nodes, "small", inputs, outputs, constants)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    return path


def built(onnx_path: Path, backend: str) -> Path:
    """An engine with a profile for 1 to 4 rows, and one for 1."""
    plan = onnx_path.with_name("m.engine")
    build_engine(onnx_path, plan, backend, EngineOptions(batches=(1,)), [X], AXES, precision="fp32")
    return plan


@pytest.fixture
def plan(backend: str, tmp_path: Path) -> Path:
    return built(model(tmp_path / "m.onnx", finds=False), backend)


@pytest.fixture
def deployment(backend: str, tmp_path: Path) -> Path:
    """A segmentor with an engine of 1 to 4 images."""
    folder = write_deployment(tmp_path / "deployment", Recipe(task="SemanticSegmentation"))
    described = Manifest.read(folder)
    plan = folder / "model.engine"
    build_engine(
        folder / "model.onnx", plan, backend, EngineOptions(), described.inputs, described.axes, precision="fp32"
    )
    return described_again(folder, backend)


def described_again(folder: Path, backend: str) -> Path:
    """The manifest with the files as they are now."""
    files = {name: file_record(folder / name) for name in ("model.onnx", "model.engine", "model.engine.json")}
    replace(Manifest.read(folder), backend=backend, files=files).write(folder)
    return folder


@pytest.mark.parametrize("cuda_graph", [False, True])
def test_built_recorded_loaded_and_run(deployment: Path, images: list[np.ndarray], cuda_graph: bool) -> None:
    with load(deployment, cuda_graph=cuda_graph) as ours, load_graph(deployment, "by ONNX Runtime") as theirs:
        for count in (4, 1, 3, 9):
            for found, expected in zip(ours(images[:count]), theirs(images[:count]), strict=True):
                assert len(np.unique(expected.label_map)) == 3, "one class everywhere could not be wrong"
                np.testing.assert_array_equal(found.label_map, expected.label_map)


@pytest.mark.parametrize("change", [{"library_version": "1.0.0.1"}, {"backend": "other"}])
def test_a_foreign_engine_is_refused(deployment: Path, backend: str, change: dict[str, str]) -> None:
    path = deployment / "model.engine.json"
    replace(EngineRecord.read(path), **change).write(path)
    with pytest.raises(InputError, match=r"model\.engine: .*; build it again: zooport deploy"):
        load(described_again(deployment, backend))


def test_an_engine_for_another_gpu_is_refused(tmp_path: Path) -> None:
    here = gpu()
    if REASONS["tensorrt-rtx"] is not None or here is None:
        pytest.skip(f"tensorrt-rtx: {REASONS['tensorrt-rtx']}")
    other = "8.6" if here.capability != "8.6" else "8.9"
    folder = write_deployment(tmp_path / "deployment", Recipe(task="SemanticSegmentation"))
    described, options = Manifest.read(folder), EngineOptions(compute_capabilities=(other,))
    plan = folder / "model.engine"
    build_engine(
        folder / "model.onnx", plan, "tensorrt-rtx", options, described.inputs, described.axes, precision="fp32"
    )
    with pytest.raises(InputError, match=f"built for compute capability {other}, and this GPU has {here.capability}"):
        load(described_again(folder, "tensorrt-rtx"))


def rows(count: int, first: float = 0) -> np.ndarray:
    return np.arange(3 * count, dtype=np.float32).reshape(count, 3) + np.float32(first)


@pytest.mark.parametrize("cuda_graph", [False, True])
def test_numpy_in_and_out(plan: Path, backend: str, cuda_graph: bool) -> None:
    with TensorRTRunner(plan, [X], [Y], AXES, backend=backend, cuda_graph=cuda_graph) as runner:
        for count in (2, 1, 4, 2, 3, 1):
            np.testing.assert_allclose(runner.run({"images": rows(count, 5)})["y"], 2 * rows(count, 5) + 1, rtol=1e-6)
        with pytest.raises(InputError, match="axis N must be 1 to 4"):
            runner.run({"images": rows(5)})


@pytest.mark.parametrize("cuda_graph", [False, True])
def test_torchs_tensors_on_a_stream_of_its_own(plan: Path, backend: str, cuda_graph: bool) -> None:
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        pytest.skip("this torch has no CUDA")
    with TensorRTRunner(plan, [X], [Y], AXES, backend=backend, cuda_graph=cuda_graph) as runner:
        for explicit in (False, True):
            with torch.cuda.stream(torch.cuda.Stream()):
                for turn in range(20):
                    x = torch.full((4, 3), -1.0, device="cuda")
                    torch.cuda._sleep(1_000_000)  # what fills x comes late: without order, -1 would be read
                    x.fill_(turn)
                    stream = torch.cuda.current_stream().cuda_stream if explicit else None
                    y = torch.from_dlpack(runner.run_device({"images": x}, stream=stream)["y"])
                    assert (y == 2 * turn + 1).all()
                array = runner.run_device({"images": x})["y"]
                assert torch.equal(torch.as_tensor(array, device="cuda"), y)


def test_threads(plan: Path, backend: str) -> None:
    with TensorRTRunner(plan, [X], [Y], AXES, backend=backend) as runner:

        def run(first: float) -> None:
            for _ in range(50):
                np.testing.assert_allclose(runner.run({"images": rows(3, first)})["y"], 2 * rows(3, first) + 1)

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(run, range(4)))  # raises what a thread raised


def test_outputs_whose_shape_depends_on_the_data(tmp_path: Path) -> None:
    if REASONS["tensorrt"] is not None:
        pytest.skip(f"tensorrt-rtx has no NonZero; tensorrt: {REASONS['tensorrt']}")
    plan = built(model(tmp_path / "m.onnx", finds=True), "tensorrt")
    with TensorRTRunner(plan, [X], [Y, WHERE], AXES, backend="tensorrt") as runner:
        for first in (0, 1, -3):
            found = runner.run({"images": rows(3, first)})["where"]
            np.testing.assert_array_equal(found, np.stack(np.nonzero(rows(3, first))))
        assert runner.run({"images": np.zeros((2, 3), np.float32)})["where"].shape == (2, 0)


def test_a_damaged_plan(plan: Path, backend: str) -> None:
    content = plan.read_bytes()
    for damaged in (b"", content[: len(content) // 2], b"x" * len(content)):
        plan.write_bytes(damaged)
        with pytest.raises(ExportError, match=r"m.engine: .* does not load it"):
            TensorRTRunner(plan, [X], [Y], AXES, backend=backend)


def test_onnx_runtimes_provider_gives_the_same(plan: Path, backend: str) -> None:
    import onnxruntime

    from backends.onnxruntime.providers import SHORT_NAMES

    if SHORT_NAMES[backend] not in onnxruntime.get_available_providers():
        pytest.skip(f"this onnxruntime has no {SHORT_NAMES[backend]}")
    with (
        TensorRTRunner(plan, [X], [Y], AXES, backend=backend) as ours,
        OnnxRuntimeRunner(plan.with_name("m.onnx"), [X], [Y], AXES, provider=backend) as theirs,
    ):
        for runner in (ours, theirs):
            np.testing.assert_allclose(runner.run({"images": rows(3)})["y"], 2 * rows(3) + 1, rtol=1e-6)
