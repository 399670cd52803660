"""Where a PyTorch module begins and ends in a graph, by the module paths on the nodes."""

import onnx

from rewriters.onnx_graph.module_nodes import between, known_modules, nodes_of_module
from rewriters.onnx_graph.module_paths import MODULE
from rewriters.onnx_graph.reads import reads
from zoo.errors import ExportError, nearest


def module_ends(model: onnx.ModelProto, path: str) -> tuple[list[str], list[str]]:
    """The values that a module's nodes read from outside, and those of theirs that are read outside, in graph order.

    A module's nodes are those at or below `path`, and nodes of unknown path between two of them; `path` may be a
    pattern of the shell's kind for several modules ("model.[0-9]"). What depends on no
    input of the graph is a constant, and is neither. Raises ExportError where the module has no nodes.
    """
    graph = model.graph
    nodes = nodes_of_module(graph, path)
    if not any(nodes):
        raise ExportError(_absent(graph, path))
    among = between(graph.node, nodes)
    varying = _varying(graph)
    inside = [node for node, ours, open_ in zip(graph.node, nodes, among, strict=True) if ours or open_]
    outside = [node for node, ours, open_ in zip(graph.node, nodes, among, strict=True) if not (ours or open_)]
    outputs = [name for node in inside for name in node.output if name in varying]
    outer = varying - set(outputs)
    read = {name for node in outside for name in reads(node)} | {value.name for value in graph.output}
    inputs = dict.fromkeys(name for node in inside for name in reads(node) if name in outer)
    return list(inputs), [name for name in outputs if name in read]


def _varying(graph: onnx.GraphProto) -> set[str]:
    """The values that depend on an input of the graph."""
    varying = {value.name for value in graph.input} - {tensor.name for tensor in graph.initializer}
    for node in graph.node:
        if not varying.isdisjoint(reads(node)):
            varying.update(filter(None, node.output))
    return varying


def _absent(graph: onnx.GraphProto, path: str) -> str:
    known = known_modules(graph)
    if not known:
        return (
            f"extract_submodel: no node has a module path ({MODULE}), which our exports write; give inputs and outputs"
        )
    return f'extract_submodel: no node is left of a module "{path}"; {nearest(path, known)}'
