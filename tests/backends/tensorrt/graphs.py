"""Small ONNX graphs for TensorRT, made with onnx alone."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

SHAPE: tuple[int | str, ...] = ("batch", 3, 16, 24)
IMAGES = TensorSpec("images", "float32", SHAPE)
AXES = {"batch": AxisRange(1, 2, 8)}
TYPES = {
    "float32": TensorProto.FLOAT,
    "float16": TensorProto.FLOAT16,
    "int64": TensorProto.INT64,
    "bool": TensorProto.BOOL,
}


def save(
    path: Path,
    nodes: Sequence[onnx.NodeProto],
    constants: Mapping[str, np.ndarray],
    inputs: Sequence[TensorSpec] = (IMAGES,),
    output: str = "float32",
) -> Path:
    """A graph whose output is `y`."""
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info(spec.name, TYPES[spec.dtype], spec.shape) for spec in inputs],
        [helper.make_tensor_value_info("y", TYPES[output], None)],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10), path)
    return path


def weights(dtype: type = np.float32, out: int = 8) -> np.ndarray:
    return np.random.default_rng(0).normal(size=(out, 3, 3, 3)).astype(dtype)


def convolution(path: Path, shape: tuple[int | str, ...] = SHAPE, dtype: str = "float32", out: int = 8) -> Path:
    nodes = [
        helper.make_node("Conv", ["images", "w"], ["c"], name="conv", pads=[1, 1, 1, 1]),
        helper.make_node("Relu", ["c"], ["y"], name="relu"),
    ]
    constants = {"w": weights(np.dtype(dtype).type, out)}
    return save(path, nodes, constants, [TensorSpec("images", dtype, shape)], output=dtype)


def quantised(path: Path) -> Path:
    """A convolution between symmetric Q/DQ pairs, its weights int8 per channel."""
    kernel = weights()
    scales = np.abs(kernel).max(axis=(1, 2, 3)) / 127
    nodes = [
        helper.make_node("QuantizeLinear", ["images", "s", "z"], ["q"], name="q"),
        helper.make_node("DequantizeLinear", ["q", "s", "z"], ["d"], name="dq"),
        helper.make_node("DequantizeLinear", ["w8", "ws", "wz"], ["w"], name="dq_weights", axis=0),
        helper.make_node("Conv", ["d", "w"], ["y"], name="conv", pads=[1, 1, 1, 1]),
    ]
    constants = {
        "s": np.array(1 / 127, np.float32),
        "z": np.array(0, np.int8),
        "w8": np.round(kernel / scales[:, None, None, None]).astype(np.int8),
        "ws": scales.astype(np.float32),
        "wz": np.zeros(8, np.int8),
    }
    return save(path, nodes, constants)


def scaled(path: Path) -> tuple[Path, tuple[TensorSpec, ...]]:
    """images, enlarged by the input `scale` int64 [1]: its value decides the output's shape."""
    inputs = (IMAGES, TensorSpec("scale", "int64", (1,)))
    nodes = [
        helper.make_node("Shape", ["images"], ["shape"]),
        helper.make_node("Slice", ["shape", "zero", "two"], ["first"]),
        helper.make_node("Slice", ["shape", "two", "four"], ["sides"]),
        helper.make_node("Mul", ["sides", "scale"], ["larger"]),
        helper.make_node("Concat", ["first", "larger"], ["sizes"], axis=0),
        helper.make_node("Resize", ["images", "", "", "sizes"], ["y"], mode="linear"),
    ]
    constants = {"zero": np.array([0]), "two": np.array([2]), "four": np.array([4])}
    return save(path, nodes, constants, inputs), inputs


def with_settings(path: Path) -> tuple[Path, tuple[TensorSpec, ...]]:
    """images, image_sizes int64 [batch, 2] and score_threshold float32 [1], none of which decides a shape."""
    inputs = (
        IMAGES,
        TensorSpec("image_sizes", "int64", ("batch", 2)),
        TensorSpec("score_threshold", "float32", (1,)),
    )
    nodes = [
        helper.make_node("ReduceMean", ["images", "pixels"], ["mean"], keepdims=0),
        helper.make_node("Cast", ["image_sizes"], ["sizes"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mean", "one"], ["column"]),
        helper.make_node("Mul", ["sizes", "column"], ["product"]),
        helper.make_node("Greater", ["product", "score_threshold"], ["y"]),
    ]
    return save(path, nodes, {"pixels": np.array([1, 2, 3]), "one": np.array([1])}, inputs, output="bool"), inputs


def non_zero(path: Path) -> Path:
    return save(path, [helper.make_node("NonZero", ["images"], ["y"], name="where_it_is")], {}, output="int64")


def scatter_add(path: Path) -> Path:
    nodes = [helper.make_node("ScatterND", ["images", "i", "u"], ["y"], name="/head/ScatterND", reduction="add")]
    return save(path, nodes, {"i": np.array([[0]]), "u": np.ones((1, 3, 16, 24), np.float32)})


def suppression(path: Path) -> Path:
    """A NonMaxSuppression, which the parser takes and the builder of tensorrt-rtx does not."""
    inputs = (TensorSpec("images", "float32", (1, 20, 4)),)
    constants = {
        "scores": np.linspace(0, 1, 20, dtype=np.float32).reshape(1, 1, 20),
        "k": np.array([5]),
        "iou": np.array([0.5], np.float32),
    }
    node = helper.make_node("NonMaxSuppression", ["images", "scores", "k", "iou"], ["y"], name="/post/NMS")
    return save(path, [node], constants, inputs, output="int64")


def top_k(path: Path, k: int) -> Path:
    inputs = (TensorSpec("images", "float32", (1, 5000)),)
    node = helper.make_node("TopK", ["images", "k"], ["y", "places"], name="/post/TopK")
    return save(path, [node], {"k": np.array([k])}, inputs)
