"""Computing once, now, what is the same for every input.

Not by graphsurgeon's fold_constants: in 0.6.1 it makes whole numbers of float constants (Cast to float, Mul by 0.5,
Cast back becomes Mul by 0), draws random numbers once for all runs, and computes what is too large before it looks.
"""

from collections import ChainMap
from collections.abc import Mapping
from collections.abc import Set as AbstractSet

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from rewriters.graph_passes.drop_unused import drop_unused
from rewriters.onnx_graph.keep_metadata import hand_down
from rewriters.onnx_graph.node_values import node_values
from rewriters.onnx_graph.opset import STANDARD
from rewriters.onnx_graph.scopes import captured, defined, subgraphs
from rewriters.onnx_graph.value_types import value_types
from zoo.byte_sizes import MEBIBYTE

NEVER = (
    *("Bernoulli", "Dropout", "Multinomial"),  # others in each run
    *("RandomNormal", "RandomNormalLike", "RandomUniform", "RandomUniformLike"),  # the same
    *("DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear"),  # a backend needs to see them
)
MOVES = ("Concat", "Gather", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Unsqueeze")
"""What gives numbers of its first input, or of all, without computing with them."""
UNKNOWN = -(2**61) + 1  # stands for a dynamic axis in the shape of a value

INITIALIZERS_ALONE = 4  # the IR version from which an initializer need not be an input as well

Known = ChainMap[str, TensorProto | None]
"""Values by name; those of a subgraph end with it, and hide those around, known or not."""


def fold_constants(
    model: onnx.ModelProto, max_bytes: int = MEBIBYTE, only: AbstractSet[str] | None = None
) -> list[str]:
    """Compute what depends on no input, and make initializers of it, in place; sizes of static axes as well.

    -> one line for each change. `max_bytes` as for the graph rewriter of this name. `only`: names of outputs; None
    for those of all nodes. What nothing reads (any more) is dropped.
    """
    folder = _Folder(model, max_bytes, only)
    folder.fold(model.graph, ChainMap(), ChainMap())
    if dropped := drop_unused(model):
        folder.changes.append(f"dropped {dropped} nodes and initializers that nothing reads")
    return folder.changes


class _Folder:
    """Walks through the graphs. `constants` and `shapes`: what is known where a node stands.

    `shapes` holds whole numbers of which some are UNKNOWN.
    """

    def __init__(self, model: onnx.ModelProto, max_bytes: int, only: AbstractSet[str] | None) -> None:
        self.model = model
        self.max_bytes = max_bytes
        self.only = only
        self.types = value_types(model)
        self.changes: list[str] = []

    def fold(self, graph: onnx.GraphProto, constants: Known, shapes: Known) -> None:
        """In place. An initializer that is an input as well is only its default."""
        inputs = {value.name for value in graph.input}
        outputs = {value.name for value in graph.output}
        constants.update({tensor.name: tensor for tensor in graph.initializer if tensor.name not in inputs})
        kept: list[onnx.NodeProto] = []
        moved: set[str] = set()
        for node in graph.node:
            for inner in subgraphs(node):
                own: dict[str, TensorProto | None] = dict.fromkeys(defined(inner))
                self.fold(inner, constants.new_child(own), shapes.new_child(own.copy()))
            folded = self._values(node, constants, shapes)
            constants.update(folded)
            as_nodes = [name for name in folded if name in outputs or self.model.ir_version < INITIALIZERS_ALONE]
            if not folded or (as_nodes and node.op_type == "Constant"):
                kept.append(node)
                continue
            kept.extend(_constant(node, folded[name]) for name in as_nodes)
            graph.initializer.extend(folded[name] for name in folded if name not in as_nodes)
            moved.update(folded)
            self.changes.append(_format_change(node, folded))
        del graph.node[:]
        graph.node.extend(kept)
        values = [value for value in graph.value_info if value.name not in moved]
        del graph.value_info[:]
        graph.value_info.extend(values)

    def _values(self, node: onnx.NodeProto, constants: Known, shapes: Known) -> dict[str, TensorProto]:
        """Its outputs, where all of them are known; what is known of shapes goes into `shapes`."""
        if self.only is not None and self.only.isdisjoint(node.output):
            return {}
        if node.op_type == "Shape" and node.domain in STANDARD and node.input[0] not in constants:
            values = self._shape(node)
        else:
            read = dict.fromkeys([*filter(None, node.input), *sorted(captured(node))])
            moved = shapes if node.op_type in MOVES else {}
            known = [
                constants.get(name) or (moved.get(name) if name == node.input[0] or node.op_type == "Concat" else None)
                for name in read
            ]
            tensors = [tensor for tensor in known if tensor is not None]
            if len(tensors) < len(known) or not _foldable(node):
                return {}
            values = _given(node) or node_values(self.model, node, tensors, self.max_bytes) or {}
        if any(map(_has_unknown, values.values())):
            shapes.update(values)
            return {}
        return values

    def _shape(self, node: onnx.NodeProto) -> dict[str, TensorProto]:
        """The shape of a value of the main graph, as far as it is known."""
        kind = self.types.get(node.input[0])
        if kind is None or not kind.tensor_type.HasField("shape"):
            return {}
        span = {attribute.name: attribute.i for attribute in node.attribute}
        sizes = [max(dim.dim_value, 0) or UNKNOWN for dim in kind.tensor_type.shape.dim]
        part = sizes[span.get("start", 0) : span.get("end", len(sizes))]
        return {node.output[0]: numpy_helper.from_array(np.array(part, dtype=np.int64), node.output[0])}


def _foldable(node: onnx.NodeProto) -> bool:
    """Whether it and all within it is standard, and gives the same in each run."""
    inner = (one for graph in subgraphs(node) for one in graph.node)
    return node.domain in STANDARD and node.op_type not in NEVER and all(map(_foldable, inner))


def _given(node: onnx.NodeProto) -> dict[str, TensorProto]:
    """The tensor of a Constant, of whatever dtype."""
    tensors = [attribute.t for attribute in node.attribute if attribute.name == "value"]
    if node.op_type != "Constant" or not tensors:
        return {}
    tensor = TensorProto()
    tensor.CopyFrom(tensors[0])
    (tensor.name,) = node.output
    return {tensor.name: tensor}


def _has_unknown(tensor: TensorProto) -> bool:
    return tensor.data_type == TensorProto.INT64 and bool((numpy_helper.to_array(tensor) == UNKNOWN).any())


def _constant(node: onnx.NodeProto, tensor: TensorProto) -> onnx.NodeProto:
    """A Constant in a node's place, which keeps its metadata."""
    constant = onnx.helper.make_node("Constant", [], [tensor.name], node.name, value=tensor)
    hand_down(node, [constant])
    return constant


def _format_change(node: onnx.NodeProto, tensors: Mapping[str, TensorProto]) -> str:
    of = ", ".join(f"{name} {list(tensor.dims)}" for name, tensor in tensors.items())
    return f"folded {node.op_type} {node.name or node.output[0]} into {of}"
