"""Writing a graph in fp16: weights and arithmetic, with a Cast wherever fp32 and fp16 meet.

Not by the float16 of onnxruntime 1.31, which is that of onnxconverter-common: it clips silently what fp16 cannot hold,
and goes into the bodies of loops.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, numpy_helper

from rewriters.graph_passes.drop_unused import drop_unused
from rewriters.onnx_graph.opset import opset_of
from rewriters.onnx_graph.scopes import captured, every_graph, subgraphs
from rewriters.onnx_graph.value_types import value_types
from rewriters.precision.fp16_ports import Ports

BEYOND = 65520.0  # what fp16 rounds to infinity
SMALLEST = 2.0**-14  # the smallest number that fp16 has with all its digits
BIAS = {"Conv": 2, "ConvTranspose": 2, "Gemm": 2}
"""The input that is added at the end."""

SOFTMAX = "softmax_precision"
"""Of an Attention: without it the softmax within is as its inputs. TensorRT refuses it (tensorrt-rtx 1.7.1); below
opset 23 an attention is written with a Softmax of its own, which stays in fp32."""


@dataclass(frozen=True)
class Casting:
    """What became fp16, by places of nodes before the cast.

    `halves`: node -> the values that it reads or gives in fp16, constants aside; `refused`: node -> why it stays in
    fp32 though it need not.
    """

    halves: Mapping[int, tuple[str, ...]]
    refused: Mapping[int, str]


def cast_to_fp16(model: onnx.ModelProto, stays: Mapping[int, str]) -> Casting:
    """Compute in fp16 all nodes of the main graph that can be, in place; inputs and outputs keep their dtypes.

    `stays`: places of nodes that stay in fp32. So do nodes with subgraphs, custom nodes, nodes for which the standard
    has no fp16, and those with a constant that fp16 cannot hold. Constants must be folded: only then are they known.
    """
    caster = _Caster(model)
    caster.cast(stays)
    if caster.halves:
        drop_unused(model)
    return Casting(caster.halves, caster.refused)


def label(node: NodeProto) -> str:
    """What a node is called in words to a user."""
    return f"{node.op_type} {node.name or node.output[0]}"


class _Caster:
    """A value keeps its name in fp32, and has another one in fp16; what is there in both has a Cast between."""

    def __init__(self, model: onnx.ModelProto) -> None:
        self.graph = model.graph
        self.opset = opset_of(model)
        self.types = value_types(model)
        inputs = {value.name for value in self.graph.input}
        self.constants = {t.name: t for t in self.graph.initializer if t.name not in inputs}
        self.taken = {name for graph in every_graph(self.graph) for node in graph.node for name in node.output}
        self.taken |= {*inputs, *self.constants}
        self.half_names: dict[str, str] = {}
        self.computed: set[str] = set()  # in fp16
        self.made: set[str] = set()  # both precisions are there
        self.nodes: list[NodeProto] = []
        self.halves: dict[int, tuple[str, ...]] = {}
        self.refused: dict[int, str] = {}

    def cast(self, stays: Mapping[int, str]) -> None:
        """In place, the main graph only."""
        for place, node in enumerate(self.graph.node):
            ports = [] if place in stays else self._ports(place, node)
            if ports:
                self._note(place, node, ports)
                self._read_half(node, ports)
            else:
                self._read_full([*node.input, *sorted(captured(node))])
            self.nodes.append(node)
            if ports:
                self._write_half(node)
        self._read_full([output.name for output in self.graph.output])
        del self.graph.node[:]
        self.graph.node.extend(self.nodes)
        halves = self.computed - self.made
        for value in self.graph.value_info:
            if value.name in halves:
                value.name = self._half(value.name)
                value.type.tensor_type.elem_type = TensorProto.FLOAT16

    def _ports(self, place: int, node: NodeProto) -> list[int]:
        """The inputs that it can read in fp16; none where it stays in fp32."""
        if any(subgraphs(node)) or not all(map(self._is_tensor, filter(None, [*node.input, *node.output]))):
            return []
        ports = Ports(node, self.opset)
        inputs = [port for port in ports.castable() if self._is_float(node.input[port])]
        floats = [port for port, name in enumerate(node.output) if self._is_float(name)]
        computed = [node.input[port] for port in inputs if node.input[port] not in self.constants]
        if floats and not set(floats) <= set(ports.following()):
            return []
        if not floats and not (computed and self.computed.issuperset(computed)):  # a Cast for a Shape would be waste
            return []
        for port in inputs:
            name = node.input[port]
            if name in self.constants and (
                problem := _problem(self.constants[name], bias=port == BIAS.get(node.op_type))
            ):
                self.refused[place] = f"{name} {problem}"
                return []
        return inputs

    def _note(self, place: int, node: NodeProto, ports: Sequence[int]) -> None:
        read = [node.input[port] for port in ports if node.input[port] not in self.constants]
        self.halves[place] = tuple(dict.fromkeys([*read, *filter(self._is_float, node.output)]))

    def _read_half(self, node: NodeProto, ports: Sequence[int]) -> None:
        self._read_full([name for port, name in enumerate(node.input) if port not in ports])
        for port in ports:
            name = node.input[port]
            node.input[port] = self._half(name)
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
        node.output[:] = [self._half(name) if name in floats else name for name in node.output]
        if node.op_type == "Attention" and all(attribute.name != SOFTMAX for attribute in node.attribute):
            node.attribute.append(onnx.helper.make_attribute(SOFTMAX, TensorProto.FLOAT))

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


def _problem(tensor: TensorProto, *, bias: bool) -> str:
    """Why fp16 cannot hold a constant, in words, or nothing. Infinities are what they are.

    What is lost of a small bias is lost of a sum, which is larger.
    """
    sizes = np.abs(numpy_helper.to_array(tensor))
    sizes = sizes[np.isfinite(sizes) & (sizes > 0)]
    if sizes.size and sizes.max() >= BEYOND:
        return f"has numbers up to {sizes.max():.1e}, beyond fp16"
    if sizes.size and sizes.max() < SMALLEST and not bias:
        return f"has numbers of {sizes.max():.1e} at most, which fp16 would round away"
    return ""
