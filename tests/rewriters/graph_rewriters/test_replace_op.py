"""Replacing operators: by name, with attributes, by plugins, in branches."""

from typing import Any

import onnx
import pytest

from tests.rewriters.graph_rewriters.graphs import model, ops, rewritten
from zoo.errors import ExportError, InputError

TWO = "g (float[n] x) => (float[n] y) { [first] a = LeakyRelu<alpha = 0.5>(x)  [second] y = LeakyRelu(a) }"


def replaced(text: str = TWO, **options: Any) -> tuple[onnx.ModelProto, list[str]]:
    step = {"name": "replace_op", "op_type": "LeakyRelu", "new_op_type": "Elu", **options}
    return rewritten(model(text), step, same=False)


def attributes(node: onnx.NodeProto) -> dict[str, Any]:
    return {attribute.name: onnx.helper.get_attribute_value(attribute) for attribute in node.attribute}


def test_all() -> None:
    after, changes = replaced()
    assert ops(after) == ["Elu", "Elu"]
    assert changes == ["LeakyRelu first is now Elu", "LeakyRelu second is now Elu"]


def test_by_name() -> None:
    assert ops(replaced(node="f*")[0]) == ["Elu", "LeakyRelu"]


def test_a_plugin_with_attributes() -> None:
    after, _ = replaced(new_op_type="Fast", domain="my", attributes={"alpha": None, "mode": "exact", "sizes": [1, 2]})
    assert [(node.domain, node.op_type) for node in after.graph.node] == [("my", "Fast")] * 2
    assert attributes(after.graph.node[0]) == {"mode": b"exact", "sizes": [1, 2]}
    assert {entry.domain: entry.version for entry in after.opset_import} == {"": 20, "my": 1}


def test_attributes_alone() -> None:
    after, changes = replaced(new_op_type="LeakyRelu", attributes={"alpha": 0.5})
    assert [attributes(node) for node in after.graph.node] == [{"alpha": 0.5}] * 2
    assert changes == ["LeakyRelu second is now LeakyRelu"]


def test_in_branches() -> None:
    branches = (
        "<then_branch = t () => (float[n] a) { a = LeakyRelu(x) }, else_branch = e () => (float[n] b) { b = Neg(x) }>"
    )
    assert ops(replaced(f"g (float[n] x, bool c) => (float[n] y) {{ y = If(c) {branches} }}")[0]) == [
        "If",
        "Elu",
        "Neg",
    ]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"op_type": "LeakyRelo"}, 'the graph has no LeakyRelo, and no Elu either; nearest: "LeakyRelu"'),
        ({"node": "third"}, 'the graph has no LeakyRelu named like "third", and no Elu either$'),
        ({"new_op_type": "Fast"}, "opset 20 has no operator Fast; for one of your own, give its domain"),
    ],
)
def test_refusals(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ExportError, match=words):
        replaced(**options)


def test_no_attribute() -> None:
    with pytest.raises(InputError, match="attribute sizes: .* is not an attribute of ONNX"):
        replaced(attributes={"sizes": [1, "a"]})
