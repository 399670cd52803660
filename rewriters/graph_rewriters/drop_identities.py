"""Dropping nodes that give back what they get."""

from collections.abc import Callable
from collections.abc import Set as AbstractSet
from typing import Any

import onnx
from onnx import numpy_helper

from rewriters.graph_rewriters.graph_rewriter import Edited, graph_rewriter
from rewriters.onnx_graph.opset import STANDARD, opset_of
from rewriters.onnx_graph.scopes import defined, rename_reads, subgraphs
from rewriters.onnx_graph.value_types import value_types

PLAIN_DROPOUT = 7  # from this opset on a Dropout does nothing but in training mode
Useless = Callable[[onnx.NodeProto, AbstractSet[str]], bool]
"""Of a node, and the names of which nothing is known where it stands: a subgraph's own hide those of the main graph."""


@graph_rewriter()
def drop_identities(model: onnx.ModelProto, *, only_identity: bool = False) -> Edited:
    """Drop Identity nodes, and others that give back what they get; inputs and outputs keep their names.

    The others: Dropout that does not train, Cast to the dtype that is there, Transpose into the order that is there,
    Concat of one. `only_identity`: leave those. What connects an input, a constant or a value of an outer graph
    directly with an output stays. Subgraphs count.
    """
    changes: list[str] = []
    _drop(model.graph, _is_identity if only_identity else _does_nothing(model), changes)
    return model, changes


def _drop(
    graph: onnx.GraphProto, useless: Useless, changes: list[str], unknown: AbstractSet[str] = frozenset()
) -> None:
    """One pass finds which value goes under which name, then all are renamed at once."""
    outputs = {output.name for output in graph.output}
    names: dict[str, str] = {}
    kept: list[onnx.NodeProto] = []
    computed: set[str] = set()
    for node in graph.node:
        source, result = (_resolved(node.input[0], names), node.output[0]) if useless(node, unknown) else ("", "")
        if result and result not in outputs:
            names[result] = source
        elif result and source in computed and source not in outputs:
            names[source] = result
        else:
            kept.append(node)
            computed.update(node.output)
            continue
        changes.append(f"dropped {node.op_type} {node.name or node.output[0]}")
    final = {name: _resolved(name, names) for name in names}
    for node in kept:
        rename_reads(node, final)
        node.output[:] = [final.get(name, name) for name in node.output]
    for node in kept:
        for inner in subgraphs(node):
            _drop(inner, useless, changes, unknown | defined(inner))
    if final:
        values = [value for value in graph.value_info if value.name not in final]
        for field, items in ((graph.node, kept), (graph.value_info, values)):
            del field[:]
            field.extend(items)


def _resolved(name: str, names: dict[str, str]) -> str:
    while name in names:
        name = names[name]
    return name


def _is_identity(node: onnx.NodeProto, _unknown: AbstractSet[str]) -> bool:
    return node.op_type == "Identity" and node.domain in STANDARD


def _does_nothing(model: onnx.ModelProto) -> Useless:
    """Whether a node gives back what it gets, as far as the model says."""
    opset = opset_of(model)
    types = value_types(model)
    inputs = {value.name for value in model.graph.input}
    constants = (tensor for tensor in model.graph.initializer if tensor.name not in inputs)
    false = {c.name for c in constants if c.data_type == onnx.TensorProto.BOOL and not numpy_helper.to_array(c).any()}

    def cast(node: onnx.NodeProto, unknown: AbstractSet[str]) -> bool:
        known = None if node.input[0] in unknown else types.get(node.input[0])
        return known is not None and known.tensor_type.elem_type == _attribute(node, "to")

    def transpose(node: onnx.NodeProto, _unknown: AbstractSet[str]) -> bool:
        order = _attribute(node, "perm")
        return order is not None and list(order) == sorted(order)

    def dropout(node: onnx.NodeProto, unknown: AbstractSet[str]) -> bool:
        trains = "".join(node.input[2:])  # data, ratio, training_mode
        return opset >= PLAIN_DROPOUT and (not trains or trains in false - unknown) and not any(node.output[1:])

    def concat(node: onnx.NodeProto, _unknown: AbstractSet[str]) -> bool:
        return len(node.input) == 1

    rules: dict[str, Useless] = {
        "Cast": cast,
        "Concat": concat,
        "Dropout": dropout,
        "Identity": _is_identity,
        "Transpose": transpose,
    }

    def useless(node: onnx.NodeProto, unknown: AbstractSet[str]) -> bool:
        rule = rules.get(node.op_type)
        return rule is not None and node.domain in STANDARD and rule(node, unknown)

    return useless


def _attribute(node: onnx.NodeProto, name: str) -> Any:
    values = [onnx.helper.get_attribute_value(attribute) for attribute in node.attribute if attribute.name == name]
    return values[0] if values else None
