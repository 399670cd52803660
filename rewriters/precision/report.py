"""What a graph of another precision computes in, by its file."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import onnx
from onnx import TensorProto

from rewriters.onnx_graph.opset import STANDARD
from rewriters.onnx_graph.scopes import subgraphs
from rewriters.onnx_graph.value_types import value_types
from rewriters.precision.layers import LAYERS

DTYPES = {"fp16": "float16", "int8": "int8"}
"""What a layer of a precision computes in."""
INTEGERS = ("ConvInteger", "MatMulInteger", "QLinearConv", "QLinearMatMul")


@dataclass(frozen=True)
class PrecisionReport:
    """How a graph was brought to a precision, and what came of it.

    `nodes`: how many of its computing nodes are of which dtype ("float32", "float16", "int8"): see computing_nodes.
    `kept`: what stays in fp32, a node or a module and the reason. `notes`: what else a user should know.
    """

    precision: str
    nodes: Mapping[str, int]
    kept: tuple[tuple[str, str], ...] = ()
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "precision": self.precision,
            "nodes": dict(self.nodes),
            "kept": [list(entry) for entry in self.kept],
            "notes": list(self.notes),
        }


def computing_nodes(model: onnx.ModelProto) -> dict[str, int]:
    """How many layers (rewriters.precision.layers: convolutions, products of matrices ...) are of which dtype.

    They take nearly all of a network's time; what lies between follows them. The dtype is that of the first input;
    "int8" where it comes from a DequantizeLinear, as do the weights. Branches and the bodies of loops count.
    """
    counts: Counter[str] = Counter()
    _count(model.graph, {name: kind.tensor_type.elem_type for name, kind in value_types(model).items()}, set(), counts)
    return dict(sorted(counts.items()))


def _count(graph: onnx.GraphProto, outer: Mapping[str, int], quantized: set[str], counts: Counter[str]) -> None:
    declared = (*graph.input, *graph.value_info, *graph.output)
    types = {**outer, **{value.name: value.type.tensor_type.elem_type for value in declared}}
    types |= {tensor.name: tensor.data_type for tensor in graph.initializer}
    quantized = set(quantized)
    for node in graph.node:
        if node.op_type == "DequantizeLinear":
            quantized.update(node.output)
        for inner in subgraphs(node):
            _count(inner, types, quantized, counts)
        if node.op_type in LAYERS and node.domain in STANDARD:
            counts[_dtype(node, types, quantized)] += 1


def _dtype(node: onnx.NodeProto, types: Mapping[str, int], quantized: Iterable[str]) -> str:
    """What is unknown, inside a Loop, is fp32: fp16 is written in the main graph only, and known there."""
    if node.op_type in INTEGERS or all(name in quantized for name in node.input[:2]):
        return "int8"
    kind = types.get(node.input[0], TensorProto.UNDEFINED) or TensorProto.FLOAT
    return onnx.helper.tensor_dtype_to_np_dtype(kind).name
