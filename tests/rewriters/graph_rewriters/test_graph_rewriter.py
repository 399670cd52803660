"""Running rewriters by name: wrong names and options are found before anything runs."""

from collections.abc import Mapping, Sequence
from typing import Any

import onnx
import onnx_graphsurgeon as gs
import pytest

from rewriters.graph_rewriters import GRAPH_REWRITERS, all_graph_rewriters, rewrite_graph
from rewriters.graph_rewriters.option_types import fits
from rewriters.graph_rewriters.surgeon import edited
from tests.rewriters.graph_rewriters.graphs import model
from zoo.errors import ExportError, InputError

GRAPH = "g (float[batch, 3] x) => (float[batch, 3] y) { a = Identity(x)  y = Relu(a) }"


def test_each_says_what_it_does() -> None:
    assert set(GRAPH_REWRITERS) >= {"fold_constants", "drop_identities", "simplify", "replace_op", "set_metadata"}
    assert all(rewriter.summary.endswith(".") for rewriter in all_graph_rewriters().values())
    assert "yolo_decode_plugin" in GRAPH_REWRITERS  # of a family


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("fold_constant", 'unknown graph rewriter "fold_constant"; nearest: "fold_constants"'),
        ({"name": "fold_constants", "max_byte": 1}, 'fold_constants: unknown option "max_byte"; nearest: "max_bytes"'),
        ({"name": "fold_constants", "max_bytes": "1"}, "option max_bytes is '1', expected int"),
        ({"name": "fold_constants", "max_bytes": True}, "option max_bytes is True, expected int"),
        ({"name": "cast_precision", "keep": "Relu"}, "option keep is 'Relu', expected a list of str"),
        ({"name": "set_metadata", "props": {"a": 1}}, "option props is {'a': 1}, expected a dict of str to str"),
        ({"name": "replace_op", "op_type": "A"}, "graph rewriter replace_op: option new_op_type is missing"),
        ({}, 'unknown graph rewriter "None"'),
    ],
)
def test_wrong_steps(step: Any, words: str) -> None:
    with pytest.raises(InputError, match=words):
        rewrite_graph(model(GRAPH), ["drop_identities", step])


@pytest.mark.parametrize(
    ("value", "hint", "expected"),
    [
        (None, Mapping[str, Any] | None, True),
        ({"a": 1}, Mapping[str, Any] | None, True),
        ({1: 1}, Mapping[str, Any] | None, False),
        (("a",), Sequence[str], True),
        (False, bool, True),
        (0, bool, False),
    ],
)
def test_types_of_options(value: Any, hint: Any, expected: bool) -> None:
    assert fits(value, hint) is expected


def test_what_graphsurgeon_forgets() -> None:
    before = model(GRAPH)
    before.ir_version, before.doc_string = 9, "about"
    before.metadata_props.add(key="task", value="detect")
    before.graph.node[1].metadata_props.add(key="namespace", value="head")
    before.graph.node[1].doc_string = "the last"
    before.graph.input[0].doc_string = "images"

    def skip(graph: gs.Graph) -> None:
        graph.nodes[1].inputs = list(graph.inputs)
        graph.cleanup()

    after = edited(before, skip)
    onnx.checker.check_model(after)
    (relu,) = after.graph.node
    assert (relu.input[0], relu.doc_string, relu.metadata_props[0].value) == ("x", "the last", "head")
    assert (after.ir_version, after.doc_string, after.metadata_props[0].value) == (9, "about", "detect")
    assert list(after.graph.input) == list(before.graph.input)
    assert list(after.opset_import) == list(before.opset_import)


def test_defaults_are_not_lost() -> None:
    before = model("g (float[n] x, float[1] d = {1}) => (float[n] y) { y = Add(x, d) }")
    with pytest.raises(ExportError, match="input d has a default value"):
        edited(before, lambda graph: None)
