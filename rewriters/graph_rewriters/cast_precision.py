"""fp16 as a typed graph: weights and arithmetic in fp16, inputs and outputs as they were.

Not by the float16 of onnxruntime 1.31, which is that of onnxconverter-common: it clips silently what fp16 cannot hold,
and goes into the bodies of loops.
"""

from collections.abc import Sequence
from fnmatch import fnmatchcase

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, numpy_helper

from rewriters.graph.drop_unused import drop_unused
from rewriters.graph.opset import opset_of
from rewriters.graph.scopes import captured, every_graph, subgraphs
from rewriters.graph.value_types import value_types
from rewriters.graph_rewriters.fold_constants import fold_constants
from rewriters.graph_rewriters.fp16_ports import Ports
from rewriters.graph_rewriters.graph_rewriter import Edited, graph_rewriter
from zoo.errors import ExportError, InputError, nearest

KEEP = (
    *("GridSample", "RoiAlign"),  # places in an image: above 2048 fp16 knows even numbers only
    "TopK",  # an order: in fp16 many scores are equal
    *("CumSum", "ReduceL2", "ReduceLogSumExp", "ReduceProd", "ReduceSum", "ReduceSumSquare"),  # grow with the size
    *("Exp", "Pow"),  # leave the range soon
    *("DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear"),  # int8 is calibrated for fp32
)
"""Stays in fp32. What the standard has in fp32 only (NonMaxSuppression, the scales of a Resize) needs no place here."""
BEYOND = 65520.0  # what fp16 rounds to infinity
SMALLEST = 2.0**-14  # the smallest number that fp16 has with all its digits


@graph_rewriter(same_numbers=False)
def cast_precision(model: onnx.ModelProto, *, precision: str = "fp16", keep: Sequence[str] = ()) -> Edited:
    """Compute in fp16 what may be, with fp16 weights; inputs and outputs keep their dtypes.

    `keep`: operators, or names of nodes with * and ?, that stay in fp32, besides those that are unsafe in fp16: TopK,
    RoiAlign, GridSample, Exp, Pow, CumSum and sums. Subgraphs and custom nodes stay in fp32 as a whole; so does a node
    with a constant that fp16 cannot hold, and the report says so. Constants are folded first: only then are they known.
    """
    if precision != "fp16":
        raise InputError(f'cast_precision: precision is "{precision}", expected "fp16"')
    _check_keep(model, keep)
    folded = onnx.ModelProto()
    folded.CopyFrom(model)
    folded, _ = fold_constants(folded)
    caster = _Caster(folded, (*KEEP, *keep))
    caster.cast()
    if not caster.changes:
        return model, []
    drop_unused(folded)
    return folded, [*caster.changes, *caster.refusals]


def _check_keep(model: onnx.ModelProto, keep: Sequence[str]) -> None:
    names = {word for graph in every_graph(model.graph) for node in graph.node for word in (node.op_type, node.name)}
    for pattern in keep:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise ExportError(
                f'cast_precision: keep: no node is or is named "{pattern}"; {nearest(pattern, sorted(names))}'
            )


class _Caster:
    """A value keeps its name in fp32, and has another one in fp16; what is there in both has a Cast between."""

    def __init__(self, model: onnx.ModelProto, keep: Sequence[str]) -> None:
        self.graph = model.graph
        self.keep = keep
        self.opset = opset_of(model)
        self.types = value_types(model)
        given = {value.name for value in self.graph.input}
        self.constants = {t.name: t for t in self.graph.initializer if t.name not in given}
        self.taken = {name for graph in every_graph(self.graph) for node in graph.node for name in node.output}
        self.taken |= {*given, *self.constants}
        self.half_names: dict[str, str] = {}
        self.computed: set[str] = set()  # in fp16
        self.made: set[str] = set()  # both precisions are there
        self.nodes: list[NodeProto] = []
        self.changes: list[str] = []
        self.refusals: list[str] = []

    def cast(self) -> None:
        """In place, the main graph only."""
        for node in self.graph.node:
            if places := self._places(node):
                self._read_half(node, places)
            else:
                self._read_full([*node.input, *sorted(captured(node))])
            self.nodes.append(node)
            if places:
                self._write_half(node)
        self._read_full([output.name for output in self.graph.output])
        del self.graph.node[:]
        self.graph.node.extend(self.nodes)
        for value in self.graph.value_info:
            if value.name in self.computed - self.made:
                value.name = self._half(value.name)
                value.type.tensor_type.elem_type = TensorProto.FLOAT16

    def _places(self, node: NodeProto) -> list[int]:
        """The inputs that it can read in fp16; none where it stays in fp32."""
        words = (node.op_type, node.name)
        kept = any(fnmatchcase(word, pattern) for pattern in self.keep for word in words)
        if kept or any(subgraphs(node)) or not all(map(self._is_tensor, filter(None, [*node.input, *node.output]))):
            return []
        ports = Ports(node, self.opset)
        places = [place for place in ports.castable() if self._is_float(node.input[place])]
        floats = [place for place, name in enumerate(node.output) if self._is_float(name)]
        computed = [node.input[place] for place in places if node.input[place] not in self.constants]
        if floats and not set(floats) <= set(ports.following()):
            return []
        if not floats and not (computed and self.computed.issuperset(computed)):  # a Cast for a Shape would be waste
            return []
        for name in (node.input[place] for place in places):
            if problem := _problem(self.constants[name]) if name in self.constants else "":
                self.refusals.append(f"{node.op_type} {node.name or node.output[0]} stays fp32: {name} {problem}")
                return []
        return places

    def _read_half(self, node: NodeProto, places: Sequence[int]) -> None:
        self._read_full([name for place, name in enumerate(node.input) if place not in places])
        for place in places:
            name = node.input[place]
            node.input[place] = self._half(name)
            if name in self.computed or name in self.made:
                continue
            self.made.add(name)
            if name in self.constants:
                self._add_constant(name)
            else:
                self.nodes.append(_cast(name, self._half(name), TensorProto.FLOAT16))

    def _read_full(self, names: Sequence[str]) -> None:
        for name in names:
            if name in self.computed and name not in self.made:
                self.made.add(name)
                self.nodes.append(_cast(self._half(name), name, TensorProto.FLOAT))

    def _write_half(self, node: NodeProto) -> None:
        floats = [name for name in node.output if self._is_float(name)]
        self.computed.update(floats)
        self.changes.append(f"{node.op_type} {node.name or node.output[0]} computes in fp16")
        node.output[:] = [self._half(name) if name in floats else name for name in node.output]

    def _add_constant(self, name: str) -> None:
        """Beside the one in fp32."""
        array = numpy_helper.to_array(self.constants[name]).astype(np.float16)
        self.graph.initializer.append(numpy_helper.from_array(array, self._half(name)))

    def _half(self, name: str) -> str:
        if name not in self.half_names:
            half = f"{name}_fp16"
            while half in self.taken:
                half += "_"
            self.taken.add(half)
            self.half_names[name] = half
        return self.half_names[name]

    def _is_tensor(self, name: str) -> bool:
        return name in self.types and bool(self.types[name].tensor_type.elem_type)

    def _is_float(self, name: str) -> bool:
        return name in self.types and self.types[name].tensor_type.elem_type == TensorProto.FLOAT


def _cast(source: str, result: str, dtype: int) -> NodeProto:
    return onnx.helper.make_node("Cast", [source], [result], f"{result}_cast", to=dtype)


def _problem(tensor: TensorProto) -> str:
    """Why fp16 cannot hold a constant, in words, or nothing. Infinities are what they are."""
    sizes = np.abs(numpy_helper.to_array(tensor))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if sizes.size and sizes.max() >= BEYOND:
        return f"has numbers up to {sizes.max():.1e}, beyond fp16"
    if sizes.size and sizes.max() < SMALLEST:
        return f"has numbers of {sizes.max():.1e} at most, which fp16 would round away"
    return ""
