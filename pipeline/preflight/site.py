"""A node where it stands: what it reads, what reads it, and what is known of these values."""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import numpy_helper

from rewriters.onnx_graph.opset import STANDARD, opset_of
from rewriters.onnx_graph.scopes import subgraphs
from zoo.target import Target


@dataclass
class Scope:
    """A graph: who makes and reads its values, and their types; `outer`: the graph around it."""

    graph: onnx.GraphProto
    outer: "Scope | None" = None
    makers: dict[str, onnx.NodeProto] = field(default_factory=dict)
    readers: dict[str, list[onnx.NodeProto]] = field(default_factory=dict)
    types: dict[str, onnx.TypeProto] = field(default_factory=dict)
    tensors: dict[str, onnx.TensorProto] = field(default_factory=dict)

    def __post_init__(self) -> None:
        graph = self.graph
        self.types = {value.name: value.type for value in (*graph.input, *graph.value_info, *graph.output)}
        self.tensors = {tensor.name: tensor for tensor in graph.initializer}
        for node in graph.node:
            self.makers |= dict.fromkeys(filter(None, node.output), node)
            for name in filter(None, node.input):
                self.readers.setdefault(name, []).append(node)

    def around(self) -> Iterator["Scope"]:
        """This graph and those around it, the inner ones first."""
        yield self
        if self.outer is not None:
            yield from self.outer.around()


@dataclass(frozen=True)
class Site:
    """One node of a graph that is meant for a target. ``functions``: those of the model, as (domain, name)."""

    node: onnx.NodeProto
    scope: Scope
    target: Target
    opset: int
    functions: AbstractSet[tuple[str, str]]

    @property
    def standard(self) -> bool:
        """Whether it is in the domain of ONNX's own operators."""
        return self.node.domain in STANDARD

    @property
    def defined(self) -> bool:
        """Whether ONNX has the operator, or the model defines it as a function."""
        named = (self.node.domain, self.node.op_type)
        return named in self.functions or (self.standard and onnx.defs.has(self.node.op_type))

    def at(self, node: onnx.NodeProto) -> "Site":
        """Another node of the same graph."""
        return Site(node, self.scope, self.target, self.opset, self.functions)

    def attribute(self, name: str, default: Any = None) -> Any:
        """Its value; text as str."""
        for attribute in self.node.attribute:
            if attribute.name == name:
                value = onnx.helper.get_attribute_value(attribute)
                return value.decode() if isinstance(value, bytes) else value
        return default

    def input(self, index: int) -> str:
        """The name of an input, "" where it is left out."""
        return self.node.input[index] if index < len(self.node.input) else ""

    def constant(self, index: int) -> NDArray[Any] | None:
        """The value of an input that is a constant, else None; one that torchscript shares is behind an Identity."""
        name = self.input(index)
        for scope in self.scope.around() if name else ():
            while name in scope.makers and scope.makers[name].op_type == "Identity":
                name = scope.makers[name].input[0]
            if name in scope.tensors:
                return numpy_helper.to_array(scope.tensors[name])
            if name in scope.makers:
                return _value(scope.makers[name])
        return None

    def fixed(self, index: int, depth: int = 8) -> bool:
        """Whether an input is computed from constants alone, in a few steps: weights that were split or transposed."""
        name = self.input(index)
        for scope in self.scope.around() if name and depth else ():
            if name in scope.tensors:
                return True
            if name in scope.makers:
                maker = self.at(scope.makers[name])
                return all(maker.fixed(i, depth - 1) for i, source in enumerate(maker.node.input) if source)
        return False

    def maker(self, index: int) -> "Site | None":
        """The node that makes an input, where it stands in the same graph."""
        maker = self.scope.makers.get(self.input(index))
        return None if maker is None else self.at(maker)

    def readers(self) -> list["Site"]:
        """The nodes of the same graph that read any of its outputs."""
        return [self.at(node) for name in self.node.output for node in self.scope.readers.get(name, [])]

    def kind(self, name: str) -> str:
        """The dtype of a value by ONNX's name in small letters ("float", "uint8"); "" where it is not known."""
        for scope in self.scope.around() if name else ():
            if name in scope.tensors:
                return _kind(scope.tensors[name].data_type)
            if name in scope.types:
                return _kind(scope.types[name].tensor_type.elem_type)
        return ""

    def shape(self, name: str) -> list[int | None] | None:
        """The sizes of a value, None for one that varies; None where the number of axes is not known."""
        for scope in self.scope.around() if name else ():
            if name in scope.tensors:
                return list(scope.tensors[name].dims)
            kind = scope.types.get(name)
            if kind is not None and kind.tensor_type.HasField("shape"):
                return [dim.dim_value if dim.HasField("dim_value") else None for dim in kind.tensor_type.shape.dim]
        return None


def _kind(number: int) -> str:
    return str(onnx.TensorProto.DataType.Name(number)).lower() if number else ""


def sites(model: onnx.ModelProto, target: Target) -> Iterator[Site]:
    """Every node in graph order, subgraphs behind the node that holds them. Reads what ONNX infers of the values."""
    with suppress(onnx.shape_inference.InferenceError, ValueError):  # ValueError: above 2 GB; the declared has to do
        model = onnx.shape_inference.infer_shapes(model, data_prop=True)
    functions = {(function.domain, function.name) for function in model.functions}
    yield from _sites(Scope(model.graph), target, opset_of(model), functions)


def _sites(scope: Scope, target: Target, opset: int, functions: AbstractSet[tuple[str, str]]) -> Iterator[Site]:
    for node in scope.graph.node:
        yield Site(node, scope, target, opset, functions)
        for graph in subgraphs(node):
            yield from _sites(Scope(graph, scope), target, opset, functions)


def _value(node: onnx.NodeProto) -> NDArray[Any] | None:
    """Of a Constant."""
    if node.op_type != "Constant":
        return None
    for attribute in node.attribute:
        value = onnx.helper.get_attribute_value(attribute)
        if attribute.name == "value":
            return numpy_helper.to_array(value)
        if attribute.name.startswith("value_"):
            return np.asarray(value)
    return None
