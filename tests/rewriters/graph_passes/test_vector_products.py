"""Products with a constant vector: the same numbers by a column, and other products are left alone."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn

from rewriters.graph_passes.marks import marks
from rewriters.graph_passes.vector_products import vector_products
from tests.exporters import DYNAMO_LATER
from tests.rewriters.small_models import export, fixed_target, run
from zoo.tensor_spec import TensorSpec

VECTOR = np.arange(4, dtype=np.float32)


def multiplied(shape: tuple[int, ...], *, hidden: bool = False) -> onnx.ModelProto:
    """images [N, 3, 2, 4] times VECTOR of a shape, which may be seen through an Identity."""
    nodes = [helper.make_node("Identity", ["vector"], ["same"])] if hidden else []
    nodes.append(helper.make_node("MatMul", ["images", "same" if hidden else "vector"], ["out"], "product"))
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", 3, 2, 4])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, ["batch", 3, 2, *shape[1:]])],
        [numpy_helper.from_array(VECTOR.reshape(shape), "vector")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


@pytest.mark.parametrize("hidden", [False, True])
def test_a_vector_becomes_a_column(hidden: bool, tmp_path: Path) -> None:
    model = multiplied((4,), hidden=hidden)
    onnx.save(model, tmp_path / "before.onnx")
    assert vector_products(model) == 1
    onnx.checker.check_model(model, full_check=True)
    assert [node.op_type for node in model.graph.node][-2:] == ["MatMul", "Squeeze"]
    onnx.save(model, tmp_path / "after.onnx")
    images = torch.rand(2, 3, 2, 4)
    before, after = (run(tmp_path / f"{name}.onnx", images)[0] for name in ("before", "after"))
    assert before.shape == after.shape == (2, 3, 2)
    np.testing.assert_allclose(after, before, rtol=1e-6)


def test_a_mark_stays_on_the_result() -> None:
    model = multiplied((4,))
    model.graph.node[0].metadata_props.add(key="zooport.mark.0", value='["mean"]')
    assert vector_products(model) == 1
    assert list(marks(model.graph)) == [("mean", "out")]


def test_a_matrix_is_left_alone() -> None:
    model = multiplied((4, 1))
    assert vector_products(model) == 0
    assert model == multiplied((4, 1))


class Mean(nn.Module):
    """images [N, 3, H, W] -> [N, 3, H], the mean place of a softmax over W, as GFL's heads decode a distance."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.register_buffer("places", torch.arange(width, dtype=torch.float32))

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        places: Tensor = self.get_buffer("places")
        return (nn.functional.linear(images.softmax(dim=-1), places),)


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_no_vector_is_left_in_an_export(exporter: str, tmp_path: Path) -> None:
    path, module = tmp_path / "m.onnx", Mean(24).eval()
    specs = [TensorSpec("means", "float32", ("batch", 3, 16))]
    export(module, fixed_target(16, 24, exporter=exporter), path, specs)
    graph = onnx.load(path).graph
    shapes = {tensor.name: tensor.dims for tensor in graph.initializer}
    assert [list(shapes[node.input[1]]) for node in graph.node if node.op_type == "MatMul"] == [[24, 1]]
    images = torch.rand(3, 3, 16, 24)
    np.testing.assert_allclose(run(path, images)[0], module(images)[0].numpy(), rtol=1e-5)
