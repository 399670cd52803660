"""Resize by constant scales: the same numbers, only for whole factors, and nothing left of the computed sizes."""

from pathlib import Path

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper

from rewriters.graph_passes.constant_scales import constant_scales
from rewriters.graph_passes.drop_unused import drop_unused
from tests.exporters import DYNAMO_LATER
from tests.rewriters.small_models import CLASSES, contract, export, fixed_target, run, small_segmentor
from zoo.tensor_spec import TensorSpec


def resizing(size: tuple[int, int], mode: str) -> onnx.ModelProto:
    """images [N, 2, 8, 12] resized to `size`, whose batch is computed in the graph."""
    nodes = [
        helper.make_node("Shape", ["images"], ["shape"]),
        helper.make_node("Slice", ["shape", "zero", "two"], ["head"]),
        helper.make_node("Concat", ["head", "size"], ["sizes"], axis=0),
        helper.make_node(
            "Resize",
            ["images", "", "", "sizes"],
            ["out"],
            mode=mode,
            coordinate_transformation_mode="half_pixel" if mode == "linear" else "asymmetric",
            **({"nearest_mode": "floor"} if mode == "nearest" else {}),
        ),
    ]
    constants = {"zero": [0], "two": [2], "size": list(size)}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", 2, 8, 12])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["batch", 2, *size])],
        [numpy_helper.from_array(np.array(value, dtype=np.int64), name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def outputs(model: onnx.ModelProto, images: np.ndarray) -> np.ndarray:
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    (out,) = session.run(None, {"images": images})
    return out


@pytest.mark.parametrize("mode", ["linear", "nearest"])
@pytest.mark.parametrize("size", [(8, 12), (16, 24), (32, 36)])
def test_whole_factors_give_the_same_numbers_without_computed_sizes(size: tuple[int, int], mode: str) -> None:
    images = np.random.default_rng(0).random((3, 2, 8, 12), dtype=np.float32)
    before = outputs(resizing(size, mode), images)
    model = resizing(size, mode)
    assert constant_scales(model) == 1
    drop_unused(model)
    onnx.checker.check_model(model, full_check=True)
    assert [node.op_type for node in model.graph.node] == ["Resize"]
    np.testing.assert_array_equal(outputs(model, images), before)


def test_other_factors_stay_as_they_are() -> None:
    model = resizing((20, 30), "linear")
    assert constant_scales(model) == 0
    assert model == resizing((20, 30), "linear")


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_an_exported_segmentor_computes_no_sizes(exporter: str, tmp_path: Path) -> None:
    """Needed: seen with ONNX Runtime 1.31, where a Resize by computed sizes leaves the fast layout."""
    model = small_segmentor("whole")
    path = tmp_path / "m.onnx"
    export(
        contract(model, "decoded"),
        fixed_target(64, 96, exporter=exporter),
        path,
        [TensorSpec("logits", "float32", ("batch", CLASSES, 64, 96))],
    )
    nodes = onnx.load(path).graph.node
    assert sum(node.op_type == "Resize" for node in nodes) == 2
    assert not any(node.op_type == "Shape" for node in nodes)
    images = torch.rand(3, 3, 64, 96)
    with torch.no_grad():
        expected = model(images).numpy()
    np.testing.assert_allclose(run(path, images)[0], expected, atol=1e-5 * np.abs(expected).max())
