"""Sizes of static axes are constants, those of dynamic ones stay, whatever torch recorded of its example."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from torch import Tensor, nn

from rewriters.graph_passes.constant_sizes import constant_sizes
from tests.exporters import DYNAMO_LATER
from tests.rewriters.small_models import CLASSES, contract, export, fixed_target, run, small_segmentor
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec


class Windows(nn.Module):
    """Windows of 4 x 4 pixels, cut by sizes that are read from the image and computed."""

    def forward(self, images: Tensor) -> dict[str, Tensor]:
        batch, channels, height, width = images.shape
        grid = images.reshape(batch, channels, height // 4, 4, width // 4, 4)
        count = (height // 4) * (width // 4)
        return {"out": grid.permute(0, 2, 4, 1, 3, 5).reshape(batch, count, channels, 4, 4)}


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_nothing_but_the_batch_is_computed(exporter: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    windows = Windows().eval()
    specs = [TensorSpec("out", "float32", ("batch", 24, 3, 4, 4))]
    export(windows, fixed_target(16, 24, exporter=exporter), path, specs)
    assert {node.op_type for node in onnx.load(path).graph.node} <= {
        *("Shape", "Gather", "Unsqueeze", "Concat"),  # the batch, and a shape with it
        *("Reshape", "Transpose"),
    }
    images = torch.rand(3, 3, 16, 24)
    np.testing.assert_array_equal(run(path, images)[0], windows(images)["out"].numpy())


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_dynamic_sizes_stay_dynamic(exporter: str, tmp_path: Path) -> None:
    model = small_segmentor("whole")
    path = tmp_path / "model.onnx"
    target = fixed_target(64, 96, exporter=exporter).with_(height=AxisRange(32, 64, 200), width=AxisRange(32, 96, 200))
    specs = [TensorSpec("logits", "float32", ("batch", CLASSES, "height", "width"))]
    export(contract(model, "decoded"), target, path, specs)
    for height, width in ((64, 96), (33, 47), (129, 200)):
        images = torch.rand(2, 3, height, width)
        with torch.no_grad():
            expected = model(images).numpy()
        np.testing.assert_allclose(run(path, images)[0], expected, atol=1e-5 * np.abs(expected).max())


def flattened(sides: list[int | str], recorded: list[int]) -> onnx.ModelProto:
    """x reshaped to [first axis, the rest], by its own sizes; a value info states `recorded` as the shape of 2 x."""
    nodes = [
        helper.make_node("Add", ["x", "x"], ["twice"]),
        helper.make_node("Shape", ["twice"], ["shape"]),
        *(helper.make_node("Gather", ["shape", f"at_{axis}"], [f"side_{axis}"]) for axis in range(len(sides))),
        helper.make_node("Mul", ["side_1", "side_2"], ["area"]),
        helper.make_node("Concat", ["side_0", "area"], ["target"], axis=0),
        helper.make_node("Reshape", ["twice", "target"], ["y"]),
    ]
    places = [helper.make_tensor(f"at_{axis}", TensorProto.INT64, [1], [axis]) for axis in range(len(sides))]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, sides)
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    graph = helper.make_graph(nodes, "flattened", [x], [y], places)
    graph.value_info.append(helper.make_tensor_value_info("twice", TensorProto.FLOAT, recorded))
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


@settings(max_examples=30, deadline=None)
@given(
    sizes=st.lists(st.integers(1, 5), min_size=3, max_size=3),
    dynamic=st.lists(st.booleans(), min_size=3, max_size=3),
    recorded=st.lists(st.integers(1, 5), min_size=3, max_size=3),
)
def test_what_torch_recorded_of_its_example_is_no_size(
    sizes: list[int], dynamic: list[bool], recorded: list[int]
) -> None:
    sides = [f"axis_{axis}" if free else size for axis, (size, free) in enumerate(zip(sizes, dynamic, strict=True))]
    model = flattened(sides, recorded)
    x = np.arange(np.prod(sizes), dtype=np.float32).reshape(sizes)
    (expected,) = ReferenceEvaluator(model).run(None, {"x": x})
    constant_sizes(model)
    (result,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_array_equal(result, expected)
    shapes = sum(node.op_type == "Shape" for node in model.graph.node)
    assert shapes == (1 if any(dynamic) else 0)
    assert [value.name for value in model.graph.value_info] == ["twice"]


def test_floats_are_left_as_they_are() -> None:
    """A threshold is looked for in the graph by the node that the model's module made of it."""
    nodes = [
        helper.make_node("Constant", [], ["threshold"], value_float=0.5),
        helper.make_node("Mul", ["threshold", "threshold"], ["square"]),
        helper.make_node("Add", ["x", "square"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in "xy")
    model = helper.make_model(helper.make_graph(nodes, "floats", [x], [y]))
    constant_sizes(model)
    assert [node.op_type for node in model.graph.node] == ["Constant", "Mul", "Add"]
