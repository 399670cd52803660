"""A squeeze of an axis whose length torchscript does not know: plain where the backend refuses its If."""

from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from onnx import TensorProto, helper
from torch import Tensor, nn

from rewriters.graph_passes.plain_squeezes import plain_squeezes
from tests.rewriters.small_models import export, fixed_target, run
from zoo.tensor_spec import TensorSpec

TENSORRT = fixed_target(8, 12, exporter="torchscript", backend="tensorrt-rtx")


class Squeezed(nn.Module):
    """images [N, 3, H, W] -> [N, 3, H * W], through an axis of length 1."""

    def forward(self, images: Tensor) -> Tensor:
        batch = images.shape[0]
        return images.reshape(batch, 3, images.numel() // (3 * batch), -1).squeeze(-1) * 2


@pytest.mark.parametrize(("backend", "choices"), [("tensorrt-rtx", 0), ("onnxruntime", 1)])
def test_for_a_backend_that_refuses_the_choice(backend: str, choices: int, tmp_path: Path) -> None:
    specs = [TensorSpec("out", "float32", ("batch", 3, 96))]
    export(Squeezed().eval(), TENSORRT.with_(backend=backend), tmp_path / "m.onnx", specs)
    kinds = [node.op_type for node in onnx.load(tmp_path / "m.onnx").graph.node]
    assert kinds.count("If") == choices
    assert kinds.count("Squeeze") == 1 - choices
    images = torch.rand(4, 3, 8, 12)
    np.testing.assert_array_equal(run(tmp_path / "m.onnx", images)[0], images.flatten(2).numpy() * 2)


def choosing(then_kind: str, else_kind: str, condition: str = "Equal") -> onnx.ModelProto:
    """images -> out by an If on the length of the second axis."""

    def branch(kind: str, name: str) -> onnx.GraphProto:
        axes = [helper.make_node("Constant", [], [f"axes_{name}"], value_ints=[1])]
        node = helper.make_node(kind, ["images", f"axes_{name}"][: 2 if kind != "Identity" else 1], [name])
        value = helper.make_tensor_value_info(name, TensorProto.FLOAT, None)
        return helper.make_graph([*(axes if kind != "Identity" else []), node], name, [], [value])

    nodes = [
        helper.make_node("Constant", [], ["one"], value_int=1),
        helper.make_node("Shape", ["images"], ["shape"]),
        helper.make_node("Gather", ["shape", "one"], ["length"]),
        helper.make_node(condition, ["length", "one"], ["single"]),
        helper.make_node(
            "If", ["single"], ["out"], then_branch=branch(then_kind, "a"), else_branch=branch(else_kind, "b")
        ),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("images", TensorProto.FLOAT, ["batch", "length", 4])],
        [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def test_another_length_stops_the_graph(tmp_path: Path) -> None:
    model = choosing("Squeeze", "Identity")
    assert plain_squeezes(model, TENSORRT) == 1
    onnx.save(model, tmp_path / "m.onnx")
    assert run(tmp_path / "m.onnx", torch.rand(2, 1, 4))[0].shape == (2, 4)
    with pytest.raises(Exception, match="Dimension of input 1 must be 1 instead of 3"):
        run(tmp_path / "m.onnx", torch.rand(2, 3, 4))


def test_a_comparison_with_another_number_is_left_alone() -> None:
    model = choosing("Squeeze", "Identity")
    model.graph.node[0].attribute[0].i = 2
    assert plain_squeezes(model, TENSORRT) == 0


@pytest.mark.parametrize(
    "kinds", [("Identity", "Squeeze"), ("Squeeze", "Unsqueeze"), ("Squeeze", "Identity", "Greater")], ids="-".join
)
def test_other_choices_are_left_alone(kinds: tuple[str, ...]) -> None:
    model = choosing(*kinds)
    assert plain_squeezes(model, TENSORRT) == 0
    assert model == choosing(*kinds)
