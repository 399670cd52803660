"""mark: the tensor itself in eager mode, a name in the file, a pair in an alignment, and no node in any file."""

import copy
from pathlib import Path

import numpy as np
import onnx
import pytest
import torch
from torch import Tensor, nn

from pipeline.alignment.comparing import Comparison
from pipeline.alignment.eager_run import MARKED
from pipeline.alignment.records import Alignment
from rewriters.graph_passes.marks import keep_marks, marks
from rewriters.onnx_graph.keep_metadata import hand_down
from rewriters.ops.nms_keep import nms_keep
from tests.exporters import DYNAMO_LATER
from tests.pipeline.alignment.planted import THRESHOLD, unseen
from tests.rewriters.small_models import export, fixed_target
from zoo.ops.mark import hearing_marks, mark
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

SPECS = [TensorSpec("result", "float32", ("batch", 2, 16, 16))]


class Marked(nn.Module):
    """Two sums that no module makes, of which one is the result."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(3, 2, 3, padding=1)
        self.offset = 1.0

    def forward(self, images: Tensor) -> Tensor:
        x = mark(self.conv(mark(images, "given")) + self.offset, "shifted")
        return mark(torch.tanh(mark(x, "again")) * 2, "result")


class Whole(Contract):
    def forward(self, images: Tensor) -> tuple[Tensor]:
        return (self.model(images),)


def exported(path: Path, exporter: str, model: nn.Module) -> onnx.ModelProto:
    target = fixed_target(16, 16, exporter=exporter, opset=18)
    export(Whole(model, {}), target, path, SPECS)
    return onnx.load(path)


def test_in_eager_mode_it_is_the_tensor_itself_and_its_gradient() -> None:
    tensor = torch.ones(2, requires_grad=True)
    assert mark(tensor, "x") is tensor
    heard: list[tuple[str, Tensor]] = []
    with hearing_marks(lambda name, given: heard.append((name, given))):
        assert mark(tensor, "x") is tensor
    assert [(name, given is tensor) for name, given in heard] == [("x", True)]
    mark(tensor, "x")
    assert len(heard) == 1


def test_a_plain_export_knows_nothing_of_it(tmp_path: Path) -> None:
    path = tmp_path / "plain.onnx"
    torch.onnx.export(Marked().eval(), (torch.rand(1, 3, 16, 16),), str(path), dynamo=False)
    assert {node.domain for node in onnx.load(path).graph.node} == {""}


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_the_file_keeps_names_and_no_nodes(tmp_path: Path, exporter: str) -> None:
    model = exported(tmp_path / "model.onnx", exporter, Marked().eval())
    assert {node.domain for node in model.graph.node} == {""}
    assert not [node for node in model.graph.node if node.op_type == "Identity"]
    assert [name for name, _ in marks(model.graph)] == ["shifted", "again", "result"]
    assert {opset.domain for opset in model.opset_import} <= {"", "ai.onnx"}


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_a_fault_between_two_marks_is_named(tmp_path: Path, exporter: str) -> None:
    model = Marked().eval()
    other = copy.deepcopy(model)
    other.offset = 1.01
    given = {"images": np.random.default_rng(0).random((1, 3, 16, 16), np.float32)}
    for exported_model, name in ((model, None), (other, '(mark "shifted")')):
        graph = exported(tmp_path / "model.onnx", exporter, exported_model)
        comparison = Comparison(Whole(model, {}), graph, given, {}, THRESHOLD, 1 << 20)
        comparison.compare(unseen)
        found = Alignment(tuple(comparison.pairs), THRESHOLD, ())
        assert [pair.role[0] for pair in found.pairs if pair.role[1] == MARKED] == ["shifted", "result"]
        assert (found.first is None) == (name is None)
        assert found.first is None or found.first.name.endswith(str(name))


class MarkedOperator(nn.Module):
    """A mark on what an operator of ours gives, which many nodes compute."""

    def forward(self, images: Tensor) -> Tensor:
        places, sides = images[:, 0, :, :2], images[:, 0, :, 2:4]
        keep = mark(nms_keep(torch.cat((places, places + sides), 2), images[:, 1, :, 0], 0.3), "kept")
        return torch.where(keep[:, None, :, None], images[:, :2], images[:, 1:])


@pytest.mark.parametrize("exporter", DYNAMO_LATER)
def test_the_mark_of_a_translated_operator_names_its_result(tmp_path: Path, exporter: str) -> None:
    model = MarkedOperator().eval()
    graph = exported(tmp_path / "model.onnx", exporter, model)
    assert [name for name, _ in marks(graph.graph)] == ["kept"]
    given = {"images": np.random.default_rng(0).random((1, 3, 16, 16), np.float32)}
    comparison = Comparison(Whole(model, {}), graph, given, {}, THRESHOLD, 1 << 20)
    comparison.compare(unseen)
    found = Alignment(tuple(comparison.pairs), THRESHOLD, ())
    assert "kept" in [pair.role[0] for pair in found.pairs if pair.role[1] == MARKED]
    assert found.first is None


def test_nodes_in_anothers_place_share_what_belongs_to_all_of_it() -> None:
    node = onnx.helper.make_node("Split", ["x"], ["a", "b"])
    for key, content in (("zooport.module", "head"), ("zooport.mark.0", '["one"]'), ("zooport.mark.1", '["two"]')):
        node.metadata_props.add(key=key, value=content)
    taking = [
        onnx.helper.make_node("Constant", [], ["b"], value_int=1),
        onnx.helper.make_node("Split", ["x"], ["c", "a"]),
    ]
    hand_down(node, taking)
    assert [{entry.key: entry.value for entry in one.metadata_props} for one in taking] == [
        {"zooport.module": "head", "zooport.mark.0": '["two"]'},
        {"zooport.module": "head", "zooport.mark.1": '["one"]'},
    ]


def test_a_marker_that_is_an_output_of_the_graph_leaves_its_name() -> None:
    def node(op_type: str, given: str, made: str, **attributes: str) -> onnx.NodeProto:
        domain = "zooport" if op_type == "Mark" else ""
        return onnx.helper.make_node(op_type, [given], [made], domain=domain, **attributes)

    value = onnx.helper.make_tensor_value_info
    nodes = [
        node("Relu", "x", "a"),
        node("Mark", "a", "y", arguments='{"name": "one"}'),
        node("Neg", "a", "b"),
        node("Mark", "x", "z", arguments='{"name": "two"}'),
    ]
    ends = [value(name, onnx.TensorProto.FLOAT, [1]) for name in ("y", "z", "b")]
    graph = onnx.helper.make_graph(nodes, "g", [value("x", onnx.TensorProto.FLOAT, [1])], ends)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)])
    keep_marks(model)
    onnx.checker.check_model(model)
    assert [(n.op_type, list(n.input), list(n.output)) for n in model.graph.node] == [
        ("Relu", ["x"], ["y"]),
        ("Neg", ["y"], ["b"]),
        ("Identity", ["x"], ["z"]),
    ]
    assert list(marks(model.graph)) == [("one", "y")]
