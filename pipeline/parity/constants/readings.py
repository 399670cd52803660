"""The constants of an exported graph, as the nodes that compute with them read them.

A value is a constant where it depends on nothing of the images but their size: an initializer, a Constant, or what
nodes compute of such. It is read where it meets a value that does depend on them, so that it does not matter how an
exporter arrives at it, nor what was folded.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from pipeline.graphs.graph_runs import graph_tensors, more_outputs
from rewriters.onnx_graph.module_paths import module_path
from rewriters.onnx_graph.reads import reads
from rewriters.onnx_graph.scopes import subgraphs
from rewriters.ops.operator import OPERATORS

Array = NDArray[Any]
SIZES = ("Shape", "Size")


@dataclass(frozen=True)
class Reading:
    """A constant ``value`` of a graph that ``operator`` reads as its input ``slot`` inside the PyTorch ``module``.

    ``module``: None where it is not known. ``in_operator``: whether an operator of ours reads it in a loop of its own,
    which the operator's tests prove.
    """

    module: str | None
    operator: str
    slot: int
    value: Array
    in_operator: bool = False


@dataclass(frozen=True)
class ReadNode:
    """A node of the graph by its ``attributes``, inside the PyTorch ``module``."""

    module: str | None
    operator: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True)
class _Place:
    module: str | None
    operator: str
    slot: int
    name: str
    in_operator: bool


def graph_nodes(model: onnx.ModelProto, operators: Collection[str]) -> list[ReadNode]:
    """The nodes of these operators in graph order, those of subgraphs as well."""
    return [
        ReadNode(module, node.op_type, {entry.name: _attribute(entry) for entry in node.attribute})
        for node, module in _every_node(model.graph, None)
        if node.op_type in operators
    ]


def read_constants(
    model: onnx.ModelProto, arrays: Mapping[str, Array], operators: Collection[str], content: Collection[str] = ()
) -> list[Reading]:
    """Every constant that a node of these operators reads. ``arrays``: inputs of a case, the images first.

    ``content``: others of them whose values are content as well: nothing that is computed of them is a constant.

    Raises ExportError where ONNX Runtime refuses the graph.
    """
    values = {tensor.name: tensor for tensor in model.graph.initializer}
    graph_places = _places(model.graph, {next(iter(arrays)), *content}, values, None)
    places = [place for place in graph_places if place.operator in operators]
    computed = sorted({place.name for place in places} - values.keys())
    with more_outputs(model, computed):
        tensors = graph_tensors(model, arrays, computed) if computed else {}
    readings = []
    for place in places:
        value = tensors[place.name] if place.name in tensors else numpy_helper.to_array(values[place.name])
        readings.append(Reading(place.module, place.operator, place.slot, value, place.in_operator))
    return readings


def _places(
    graph: onnx.GraphProto,
    content: set[str],
    values: dict[str, onnx.TensorProto],
    around: str | None,
    in_operator: bool = False,
) -> Iterator[_Place]:
    """Where constants are read. ``content``: names that depend on the images, ``values``: tensors by name; both grow.

    ``around``: the module of the node that holds the graph; None for the main graph, which may compute constants.
    ``in_operator``: see Reading.
    """
    inner = around is not None
    for node in graph.node:
        module = module_path(node)
        module = around if module is None else module
        if node.op_type == "Constant":
            values.update((node.output[0], entry.t) for entry in node.attribute if entry.name == "value")
            continue
        holds = list(subgraphs(node))
        for body in holds:
            values.update({tensor.name: tensor for tensor in body.initializer})
            inputs = {value.name for value in body.input}
            yield from _places(body, content | inputs, values, module or "", in_operator or _is_operators(node))
        if node.op_type in SIZES or content.isdisjoint(reads(node)):
            continue
        content.update(filter(None, node.output))
        if holds:
            continue
        for slot, name in enumerate(node.input):
            if name and name not in content and (name in values or not inner):
                yield _Place(module, node.op_type, slot, name, in_operator)


def _is_operators(node: onnx.NodeProto) -> bool:
    """Whether a node came from translating an operator of ours: by the result of that, its name begins."""
    torch_names = "|".join(operator.name.rpartition("::")[2] for operator in OPERATORS.values())
    onnx_types = "|".join(OPERATORS)
    by_exporter = rf"(?:{torch_names})(?:_\d+)?/|.*/(?:{onnx_types})(?:_\d+)?_output_\d+/"  # dynamo, torchscript
    return re.match(by_exporter, node.name) is not None


def _every_node(graph: onnx.GraphProto, around: str | None) -> Iterator[tuple[onnx.NodeProto, str | None]]:
    for node in graph.node:
        module = module_path(node)
        module = around if module is None else module
        yield node, module
        for body in subgraphs(node):
            yield from _every_node(body, module)


def _attribute(entry: onnx.AttributeProto) -> Any:
    value = onnx.helper.get_attribute_value(entry)
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return np.asarray(value) if isinstance(value, list) else value
