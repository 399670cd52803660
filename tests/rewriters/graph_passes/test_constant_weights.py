"""Weights that are computed of weights: constants in the file, with the numbers of the model, which stays as it was."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper, numpy_helper
from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils import weight_norm as weight_norm_by_hook
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm

from rewriters.graph_passes.constant_weights import LAYERS, WEIGHTS, constant_weights
from tests.exporters import DYNAMO_LATER
from tests.rewriters.small_models import export, fixed_target, run
from zoo.tensor_spec import TensorSpec

SPECS = [TensorSpec("out", "float32", ("batch", 16, 16, 4))]


class Standardized(nn.Conv2d):
    """Weight standardization as timm writes it: a batch norm of the weights, with a gain."""

    def forward(self, x: Tensor) -> Tensor:
        rows = self.weight.reshape(1, self.out_channels, -1)
        gain = torch.linspace(0.5, 1.5, self.out_channels)
        weight = functional.batch_norm(rows, None, None, weight=gain, training=True, momentum=0.0)
        return functional.conv2d(x, weight.reshape_as(self.weight), self.bias, self.stride, self.padding)


class Scaled(nn.Module):
    """Layers whose weights are computed, each in its own way."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.Sequential(
            Standardized(3, 8, 3, padding=1),
            weight_norm(nn.Conv2d(8, 8, 3, padding=1)),
            nn.ReLU(),
            spectral_norm(nn.Conv2d(8, 6, 3, padding=1)),
            weight_norm_by_hook(nn.Conv2d(6, 4, 1)),
        )
        self.last = orthogonal(nn.Linear(4, 4))

    def forward(self, images: Tensor) -> dict[str, Tensor]:
        return {"out": self.last(self.convs(images).permute(0, 2, 3, 1))}


@pytest.fixture
def scaled() -> Iterator[nn.Module]:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        yield Scaled().eval()


def weights_of(model: onnx.ModelProto) -> list[str]:
    return [node.input[WEIGHTS] for node in model.graph.node if node.op_type in LAYERS]


@pytest.mark.filterwarnings("ignore:.*weight_norm.* is deprecated:FutureWarning")
@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_computed_weights_are_constants(scaled: nn.Module, exporter: str, tmp_path: Path) -> None:
    images = torch.rand(2, 3, 16, 16, generator=torch.Generator().manual_seed(0))
    state = {name: tensor.clone() for name, tensor in scaled.state_dict().items()}
    with torch.no_grad():
        expected = scaled(images)["out"].numpy()
    export(scaled, fixed_target(16, 16, exporter=exporter), tmp_path / "m.onnx", SPECS)
    model = onnx.load(tmp_path / "m.onnx")
    assert {tensor.name for tensor in model.graph.initializer} >= set(weights_of(model))
    assert not {node.op_type for node in model.graph.node} & {"BatchNormalization", "ReduceL2", "ReduceMean", "Div"}
    (out,) = run(tmp_path / "m.onnx", images)
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=1e-5)
    assert scaled.state_dict().keys() == state.keys()
    assert all(torch.equal(tensor, state[name]) for name, tensor in scaled.state_dict().items())
    with torch.no_grad():
        assert np.array_equal(scaled(images)["out"].numpy(), expected), "the model itself is changed"


def multiplied(*, by_images: bool) -> onnx.ModelProto:
    """images [2, 2] times (weights + weights), or times (images + weights); and a shape that is no layer's weight."""
    nodes = [
        helper.make_node("Add", ["images" if by_images else "weights", "weights"], ["sum"]),
        helper.make_node("MatMul", ["images", "sum"], ["product"]),
        helper.make_node("Add", ["shape", "shape"], ["shapes"]),
        helper.make_node("Reshape", ["product", "shapes"], ["out"]),
    ]
    constants = {"weights": np.eye(2, dtype=np.float32), "shape": np.array([1, 1], np.int64)}
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, [2, 2])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [2, 2])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def test_weights_alone_are_computed() -> None:
    model = multiplied(by_images=False)
    constant_weights(model)
    onnx.checker.check_model(model, full_check=True)
    assert [node.op_type for node in model.graph.node] == ["MatMul", "Add", "Reshape"]
    (weights,) = [tensor for tensor in model.graph.initializer if tensor.name == "sum"]
    assert np.array_equal(numpy_helper.to_array(weights), 2 * np.eye(2, dtype=np.float32))


def test_large_weights_of_small_ones_are_computed() -> None:
    """Of low rank: the product is 4 MiB, what it is computed of some kilobytes."""
    nodes = [
        helper.make_node("MatMul", ["a", "b"], ["product"]),
        helper.make_node("Add", ["product", "one"], ["weights"]),
        helper.make_node("MatMul", ["images", "weights"], ["out"]),
    ]
    constants = {
        name: np.ones(shape, np.float32) for name, shape in {"a": (1024, 2), "b": (2, 1024), "one": ()}.items()
    }
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, [2, 1024])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, [2, 1024])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    constant_weights(model)
    assert [node.op_type for node in model.graph.node] == ["MatMul"]
    (weights,) = model.graph.initializer
    assert np.array_equal(numpy_helper.to_array(weights), np.full((1024, 1024), 3, np.float32))


def test_weights_in_another_shape_alone_stay_shared() -> None:
    model = multiplied(by_images=False)
    model.graph.node[0].CopyFrom(helper.make_node("Transpose", ["weights"], ["sum"], perm=[1, 0]))
    before = model.SerializeToString(deterministic=True)
    constant_weights(model)
    assert model.SerializeToString(deterministic=True) == before


def test_what_an_input_reaches_stays() -> None:
    model = multiplied(by_images=True)
    before = model.SerializeToString(deterministic=True)
    constant_weights(model)
    assert model.SerializeToString(deterministic=True) == before


def test_random_weights_are_drawn_at_each_run() -> None:
    model = multiplied(by_images=False)
    model.graph.node[0].CopyFrom(helper.make_node("RandomNormal", [], ["sum"], shape=[2, 2]))
    constant_weights(model)
    assert model.graph.node[0].op_type == "RandomNormal"
