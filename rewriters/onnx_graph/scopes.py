"""Graphs within graphs: the branches of an If, the body of a Loop or a Scan. They read values of the graphs around."""

from collections.abc import Iterator, Mapping

import onnx


def subgraphs(node: onnx.NodeProto) -> Iterator[onnx.GraphProto]:
    """The graphs that a node holds, not those within them."""
    for attribute in node.attribute:
        if attribute.type == onnx.AttributeProto.GRAPH:
            yield attribute.g
        yield from attribute.graphs


def every_graph(graph: onnx.GraphProto) -> Iterator[onnx.GraphProto]:
    """The graph and all graphs within, the outer ones first."""
    yield graph
    for node in graph.node:
        for inner in subgraphs(node):
            yield from every_graph(inner)


def defined(graph: onnx.GraphProto) -> set[str]:
    """The names that a graph gives its own values; in it they hide those of the graphs around."""
    results = (name for node in graph.node for name in node.output if name)
    return {*(value.name for value in graph.input), *(tensor.name for tensor in graph.initializer), *results}


def captured(node: onnx.NodeProto) -> set[str]:
    """What a node's subgraphs read of the graphs around."""
    outer: set[str] = set()
    for graph in subgraphs(node):
        read = {output.name for output in graph.output}
        for inner in graph.node:
            read.update(inner.input, captured(inner))
        outer |= read - defined(graph) - {""}
    return outer


def rename_reads(node: onnx.NodeProto, names: Mapping[str, str]) -> None:
    """Let a node, and all within it, read other values, in place."""
    node.input[:] = [names.get(name, name) for name in node.input]
    for graph in subgraphs(node):
        own = defined(graph)
        outer = {name: other for name, other in names.items() if name not in own}
        for inner in graph.node:
            rename_reads(inner, outer)
        for output in graph.output:
            output.name = outer.get(output.name, output.name)
