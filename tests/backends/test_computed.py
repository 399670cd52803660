"""What ONNX Runtime computes in is what its kernels say, not what the file says."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from backends.onnxruntime import computed as computed_module
from backends.onnxruntime.computed import computed
from rewriters.precision import layers, report
from zoo.errors import ExportError, InputError

IMAGES = {"x": np.random.default_rng(0).random((1, 4, 8, 8), dtype=np.float32)}


def saved(path: Path, nodes: list[onnx.NodeProto], constants: dict[str, np.ndarray], kind: int) -> Path:
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", kind, ["n", 4, 8, 8])],
        [helper.make_tensor_value_info("y", kind, ["n", 4, 8, 8])],
        [numpy_helper.from_array(array, name) for name, array in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)
    return path


def conv(source: str, weight: str, result: str) -> onnx.NodeProto:
    return helper.make_node("Conv", [source, weight], [result], result, pads=[1, 1, 1, 1])


def weight(dtype: str) -> np.ndarray:
    return np.random.default_rng(1).random((4, 4, 3, 3)).astype(dtype)


def quantized(*, end: bool) -> list[onnx.NodeProto]:
    """A Conv between DequantizeLinear and, with `end`, QuantizeLinear: without it no integer kernel fits."""
    steps = [
        helper.make_node("QuantizeLinear", ["x", "scale", "zero"], ["xq"]),
        helper.make_node("DequantizeLinear", ["xq", "scale", "zero"], ["xd"]),
        helper.make_node("DequantizeLinear", ["w", "scales", "zeros"], ["wd"], axis=0),
        conv("xd", "wd", "c" if end else "y"),
    ]
    if end:
        steps.append(helper.make_node("QuantizeLinear", ["c", "scale", "zero"], ["cq"]))
        steps.append(helper.make_node("DequantizeLinear", ["cq", "scale", "zero"], ["y"]))
    return steps


CONSTANTS = {
    "scale": np.array(0.02, np.float32),
    "zero": np.array(0, np.int8),
    "scales": np.full(4, 0.01, np.float32),
    "zeros": np.zeros(4, np.int8),
    "w": np.random.default_rng(1).integers(-9, 9, (4, 4, 3, 3)).astype(np.int8),
}


def test_fp32_is_fp32_and_a_node_counts_once(tmp_path: Path) -> None:
    nodes = [conv("x", "w", "a"), helper.make_node("Relu", ["a"], ["r"]), conv("r", "w", "y")]
    path = saved(tmp_path / "m.onnx", nodes, {"w": weight("float32")}, TensorProto.FLOAT)
    assert computed(path, IMAGES) == {"float32": 2}


def test_fp16_in_the_file_is_what_the_kernels_make_of_it(tmp_path: Path) -> None:
    """Elsewhere than on x86, ONNX Runtime's CPU provider has fp16 kernels for convolutions."""
    path = saved(tmp_path / "m.onnx", [conv("x", "w", "y")], {"w": weight("float16")}, TensorProto.FLOAT16)
    found = computed(path, {"x": IMAGES["x"].astype(np.float16)})
    assert found in ({"float32": 1}, {"float16": 1})


@pytest.mark.parametrize(("end", "expected"), [(True, {"int8": 1}), (False, {"float32": 1})])
def test_a_quantised_convolution_that_runs_in_float_is_seen(
    tmp_path: Path, end: bool, expected: dict[str, int]
) -> None:
    path = saved(tmp_path / "m.onnx", quantized(end=end), CONSTANTS, TensorProto.FLOAT)
    assert computed(path, IMAGES) == expected


def test_the_turns_of_a_loop_count_once(tmp_path: Path) -> None:
    turn, go_on = (
        helper.make_tensor_value_info("i", TensorProto.INT64, []),
        helper.make_tensor_value_info("go", TensorProto.BOOL, []),
    )
    state = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", 4, 8, 8]) for name in ("s", "t")]
    after = helper.make_tensor_value_info("on", TensorProto.BOOL, [])
    inner = [helper.make_node("Identity", ["go"], ["on"]), conv("s", "w", "t")]
    body = helper.make_graph(inner, "body", [turn, go_on, state[0]], [after, state[1]])
    nodes = [helper.make_node("Loop", ["three", "", "x"], ["y"], "loop", body=body)]
    path = saved(tmp_path / "m.onnx", nodes, {"w": weight("float32"), "three": np.array(3)}, TensorProto.FLOAT)
    assert computed(path, IMAGES) == {"float32": 1}


def test_nothing_stays_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.chdir(tmp_path)
    (tmp_path / "temporary").mkdir()
    computed(saved(tmp_path / "m.onnx", [conv("x", "w", "y")], {"w": weight("float32")}, TensorProto.FLOAT), IMAGES)
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["m.onnx", "temporary"]


def test_errors_are_in_words(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none.onnx: no such file"):
        computed(tmp_path / "none.onnx", IMAGES)
    path = saved(tmp_path / "m.onnx", [conv("x", "w", "y")], {"w": weight("float32")}, TensorProto.FLOAT)
    with pytest.raises(ExportError, match="m.onnx: ONNX Runtime stopped: .*x"):
        computed(path, {"x": IMAGES["x"][:, :3]})


def test_every_layer_of_a_file_is_counted_when_it_runs() -> None:
    """Backends and rewriters do not import one another: each has a list of its own."""
    assert set(layers.LAYERS) <= computed_module.LAYERS | computed_module.INTEGER
    assert set(report.INTEGERS) <= computed_module.INTEGER
    assert not computed_module.LAYERS & computed_module.INTEGER


def test_a_full_disk_is_reported(tmp_path: Path) -> None:
    """A limit on the size of files, in a process of its own, stops ONNX Runtime's writing as a full disk does."""
    path = saved(tmp_path / "m.onnx", [conv("x", "w", "y")], {"w": weight("float32")}, TensorProto.FLOAT)
    program = (
        "import resource, sys, numpy as np\n"
        "from backends.onnxruntime.computed import computed\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))\n"
        "computed(sys.argv[1], {'x': np.zeros((1, 4, 8, 8), np.float32)})\n"
    )
    done = subprocess.run(
        [sys.executable, "-B", "-c", program, str(path)],  # -B: bytecode would be cut off
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode != 0
    assert "InputError: " in done.stderr
    assert "is cut off" in done.stderr
    assert "make room, or set TMPDIR" in done.stderr
