"""Engines built by tensorrt_rtx, which needs no GPU for that."""

import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from backends.engine_options import EngineOptions
from backends.tensorrt import build as build_module
from backends.tensorrt.build import build_engine
from backends.tensorrt.engine_record import EngineRecord, check_record, record_path
from backends.tensorrt.refused import EngineRefusedError
from tests.backends.tensorrt import graphs
from tests.backends.tensorrt.graphs import AXES, IMAGES
from zoo.errors import BackendUnavailableError, ExportError, InputError
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

pytestmark = [
    pytest.mark.tensorrt,
    pytest.mark.skipif(
        importlib.util.find_spec("tensorrt_rtx") is None,
        reason="tensorrt_rtx is not installed: pip install tensorrt-rtx",
    ),
]
ROOT = Path(__file__).resolve().parents[3]
RTX = "tensorrt-rtx"
TIMEOUT = 120  # seconds


def build(
    onnx_path: Path,
    inputs: Sequence[TensorSpec] = (IMAGES,),
    axes: Mapping[str, AxisRange] = AXES,
    values: Mapping[str, AxisRange] | None = None,
    **options: Any,
) -> EngineRecord:
    """The record of the engine beside the ONNX file. Nothing but what was asked for may be left beside it."""
    plan = onnx_path.with_name("model.engine")
    before = {path.name for path in onnx_path.parent.iterdir()}
    made = EngineOptions(**{"timeout_seconds": TIMEOUT, **options})
    left: set[str] = set()
    try:
        record = build_engine(onnx_path, plan, RTX, made, inputs, axes, values, precision="fp32").record
        left = {plan.name, record_path(plan).name}
    finally:
        assert {path.name for path in onnx_path.parent.iterdir()} == before | left
    return record


def fixed(*shape: int) -> list[TensorSpec]:
    return [TensorSpec("images", "float32", shape)]


def test_an_engine_and_its_record(tmp_path: Path) -> None:
    path = graphs.convolution(tmp_path / "model.onnx")
    record = build(path)
    plan = tmp_path / "model.engine"
    assert record.bytes == plan.stat().st_size > 1000
    assert record.layers == {"float32": 1}
    assert record.profiles == ({"images": ((1, 3, 16, 24), (2, 3, 16, 24), (8, 3, 16, 24))},)
    assert (record.backend, record.compute_capabilities, record.warnings) == (RTX, (), ())
    assert EngineRecord.read(record_path(plan)) == record
    again = build(path)
    assert again.to_dict() == record.to_dict() | {"plan_sha256": again.plan_sha256, "bytes": again.bytes}
    check_record(record, plan, path, RTX, record.library_version, None)


def test_static_shapes(tmp_path: Path) -> None:
    record = build(graphs.convolution(tmp_path / "m.onnx", (2, 3, 16, 24)), fixed(2, 3, 16, 24), {})
    assert record.profiles == ({"images": ((2, 3, 16, 24),) * 3},)


def test_a_profile_for_each_batch_is_in_the_engine(tmp_path: Path) -> None:
    path = graphs.convolution(tmp_path / "m.onnx")
    one, three = build(path), build(path, batches=(1, 4))
    assert len(three.profiles) == 3
    assert three.bytes > 2 * one.bytes  # kernels of each


def test_fp16_is_counted(tmp_path: Path) -> None:
    path = graphs.convolution(tmp_path / "m.onnx", dtype="float16")
    assert build(path, [IMAGES._replace(dtype="float16")]).layers == {"float16": 1}


def test_int8_is_counted(tmp_path: Path) -> None:
    assert build(graphs.quantised(tmp_path / "m.onnx")).layers == {"int8": 1}


def test_inputs_that_are_no_images(tmp_path: Path) -> None:
    path, inputs = graphs.with_settings(tmp_path / "m.onnx")
    record = build(path, inputs)
    assert record.profiles[0]["image_sizes"] == ((1, 2), (2, 2), (8, 2))
    assert record.profiles[0]["score_threshold"] == ((1,),) * 3


def test_an_input_that_decides_shapes_needs_the_range_of_its_values(tmp_path: Path) -> None:
    path, inputs = graphs.scaled(tmp_path / "m.onnx")
    with pytest.raises(InputError, match='input "scale" decides the shapes of others: TensorRT needs the min, opt and'):
        build(path, inputs)
    assert build(path, inputs, values={"scale": AxisRange(2, 3, 4)}).values == {"scale": (2, 3, 4)}


@pytest.mark.parametrize(
    "options",
    [
        {"compute_capabilities": ("8.9", "12.0", "8.9")},
        {"compute_capabilities": ("7.5",)},
        {"hardware_compatible": True, "workspace_mib": 64, "optimization_level": 0},
    ],
)
def test_options(tmp_path: Path, options: dict[str, Any]) -> None:
    assert build(graphs.convolution(tmp_path / "m.onnx"), **options).options == EngineOptions(
        timeout_seconds=TIMEOUT, **options
    )


def test_a_compute_capability_that_the_library_has_not(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"got 9.0, but tensorrt_rtx builds for 7.5, 8.0, 8.6, 8.9, 12.0"):
        build(graphs.convolution(tmp_path / "m.onnx"), compute_capabilities=("9.0",))


@pytest.mark.skipif(Path("/dev/nvidiactl").exists(), reason="there is a GPU, and it can")
def test_a_refittable_engine_needs_a_gpu(tmp_path: Path) -> None:
    with pytest.raises(BackendUnavailableError, match="refittable: tensorrt-rtx compiles such an engine on a GPU"):
        build(graphs.convolution(tmp_path / "m.onnx"), refittable=True)


@pytest.mark.parametrize(
    ("make", "inputs", "node", "operator", "reason"),
    [
        (graphs.non_zero, [IMAGES], "where_it_is", "NonZero", "NonZero plugin creator"),
        (graphs.scatter_add, [IMAGES], "/head/ScatterND", "ScatterND", "reduction is not supported"),
        (graphs.suppression, fixed(1, 20, 4), "/post/NMS", None, "has no runners that implement it"),
        (lambda path: graphs.top_k(path, 4000), fixed(1, 5000), "/post/TopK", None, "K exceeds the maximum value"),
    ],
)
def test_a_refused_node_is_named(
    tmp_path: Path, make: Callable[[Path], Path], inputs: list[TensorSpec], node: str, operator: str | None, reason: str
) -> None:
    with pytest.raises(EngineRefusedError) as raised:
        build(make(tmp_path / "m.onnx"), inputs)
    error = raised.value
    assert (error.node, error.operator) == (node, operator)
    assert reason in error.reason
    assert "\n" not in str(error)
    assert f'at node "{node}"' in str(error)
    assert error.exit_code == 5


@pytest.mark.parametrize("content", [b"", b"hello\n", b"cut"])
def test_a_file_that_is_no_graph(tmp_path: Path, content: bytes) -> None:
    path = graphs.convolution(tmp_path / "m.onnx")
    path.write_bytes(path.read_bytes()[:100] if content == b"cut" else content)
    with pytest.raises(InputError, match=r"m.onnx: (not an ONNX file|no ONNX graph).*; export the model again"):
        build(path)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"none.onnx: cannot be read \(No such file or directory\)"):
        build(tmp_path / "none.onnx")


def test_weights_that_are_not_there(tmp_path: Path) -> None:
    path = graphs.convolution(tmp_path / "m.onnx", out=64)
    onnx.save(onnx.load(path), path, save_as_external_data=True, location="weights.bin", size_threshold=0)
    (tmp_path / "weights.bin").unlink()
    with pytest.raises(InputError, match="m.onnx: .*Failed to open file: .*weights.bin; put the file of its weights"):
        build(path)


def test_inputs_of_another_graph(tmp_path: Path) -> None:
    path, _ = graphs.with_settings(tmp_path / "m.onnx")
    with pytest.raises(InputError, match="got images, expected those of the ONNX file: images, image_sizes, score_"):
        build(path)


def test_more_memory_than_allowed(tmp_path: Path) -> None:
    path = graphs.convolution(tmp_path / "m.onnx")
    with pytest.raises(ExportError, match="took more than 10 MiB of memory and was stopped; raise the engine option"):
        build(path, memory_limit_mib=10)
    assert build(path, memory_limit_mib=2000).bytes


def test_a_killed_build_leaves_the_engine_before(tmp_path: Path) -> None:
    path = graphs.convolution(tmp_path / "m.onnx")
    before = build(path)

    def kill() -> None:
        until = time.monotonic() + TIMEOUT
        while time.monotonic() < until:
            for status in Path("/proc").glob("[0-9]*/status"):
                try:
                    ours = f"\nPPid:\t{os.getpid()}\n" in status.read_text()
                    if ours and b"backends.tensorrt.building" in status.with_name("cmdline").read_bytes():
                        os.kill(int(status.parent.name), signal.SIGKILL)
                        return
                except (OSError, ValueError):
                    continue  # it ended meanwhile
            time.sleep(0.01)

    killer = threading.Thread(target=kill)
    killer.start()
    with pytest.raises(ExportError, match="was killed"):
        build(path)
    killer.join()
    plan = tmp_path / "model.engine"
    check_record(EngineRecord.read(record_path(plan)), plan, path, RTX, before.library_version, None)


@pytest.mark.slow
def test_a_full_disk(tmp_path: Path) -> None:
    """As a limit on the size of files, which the process of the build inherits: no file may have a page of bytes."""
    graphs.convolution(tmp_path / "m.onnx", (1, 3, 16, 24))
    code = (
        "import resource; from backends.tensorrt.build import build_engine; from backends.engine_options import "
        "EngineOptions; from zoo.tensor_spec import TensorSpec; from zoo.errors import InputError\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "try:\n    build_engine('m.onnx', 'model.engine', 'tensorrt-rtx', EngineOptions(), "
        "[TensorSpec('images', 'float32', (1, 3, 16, 24))], {}, precision='fp32')\n"
        "except InputError as error:\n    print(error)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"},  # it would be cut off
        capture_output=True,
        text=True,
        check=False,
    )
    assert "cannot be written (File too large)" in done.stdout, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["m.onnx"]


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    path = graphs.convolution(tmp_path / "m.onnx")
    with pytest.raises(InputError, match="cannot be written .No such file or directory.; give a folder that can be"):
        build_engine(path, tmp_path / "none" / "model.engine", RTX, EngineOptions(), [IMAGES], AXES, precision="fp32")


def test_two_builds_of_one_plan_at_once(tmp_path: Path) -> None:
    path, plan = graphs.convolution(tmp_path / "m.onnx"), tmp_path / "model.engine"
    options = [EngineOptions(timeout_seconds=TIMEOUT, batches=batches) for batches in ((), (1, 4))]
    builds = [
        threading.Thread(
            target=build_engine, args=(path, plan, RTX, each, [IMAGES], AXES), kwargs={"precision": "fp32"}
        )
        for each in options
    ]
    for each in builds:
        each.start()
    for each in builds:
        each.join()
    record = EngineRecord.read(record_path(plan))
    check_record(record, plan, path, RTX, record.library_version, None)
    assert {each.name for each in tmp_path.iterdir()} == {"m.onnx", "model.engine", "model.engine.json"}


def test_a_subgraph_is_built(tmp_path: Path) -> None:
    """An If whose branches compute: layers of both are counted."""
    branch = [
        helper.make_graph(
            [helper.make_node(name, ["images", "w"], [f"{name}_y"], pads=[1, 1, 1, 1])],
            name,
            [],
            [helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, (1, 3, 16, 24))],
        )
        for name in ("Conv", "ConvTranspose")
    ]
    inputs = [*fixed(1, 3, 16, 24), TensorSpec("sure", "bool", ())]
    node = helper.make_node("If", ["sure"], ["y"], then_branch=branch[0], else_branch=branch[1])
    record = build(graphs.save(tmp_path / "m.onnx", [node], {"w": graphs.weights(out=3)}, inputs), inputs, {})
    assert record.layers == {"float32": 2}


def test_the_plan_is_written_before_the_timing_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A fault there must not cost the engine. The process of the build is ours, with stand-ins for the cache."""
    code = (
        "import sys; from pathlib import Path; from backends.tensorrt import building; found = []\n"
        "building.use_timings = lambda *given: Path('cache')\n"
        "write = building.write_synced\n"
        "building.write_synced = lambda path, plan: found.append(path) or write(path, plan)\n"
        "building.keep_timings = lambda config, path: found[0].stat().st_size > 1000 or sys.exit(1)\n"
        "building.main()"
    )
    monkeypatch.setattr(build_module, "COMMAND", (sys.executable, "-c", code))
    assert build(graphs.convolution(tmp_path / "m.onnx")).bytes > 1000


@pytest.mark.parametrize("missing", ["create_builder_config", "create_network"])
def test_a_builder_that_gives_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    code = (
        "import types; from backends.tensorrt import building\n"
        "nothing = types.SimpleNamespace(create_builder_config=lambda: 1, create_network=lambda flags: 1)\n"
        f"nothing.{missing} = lambda *given: None\n"
        "library = building.library\n"
        "def fake(backend):\n    library(backend).Builder = lambda log: nothing\n    return library(backend)\n"
        "building.library = fake\n"
        "building.main()"
    )
    monkeypatch.setattr(build_module, "COMMAND", (sys.executable, "-c", code))
    with pytest.raises(EngineRefusedError, match="the builder gave no reason"):
        build(graphs.convolution(tmp_path / "m.onnx"))
