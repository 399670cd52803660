"""Cutting a piece out of a graph, between values.

onnx.utils.extract_model (1.23) is not used: it misses what subgraphs read from the graph around them, loses the
model's metadata, and gives a broken piece where an input was forgotten.
"""

from collections.abc import Sequence

import onnx

from rewriters.onnx_graph.reads import reads
from rewriters.onnx_graph.stated_values import stated_values
from zoo.errors import ExportError, InputError, nearest


def cut(model: onnx.ModelProto, inputs: Sequence[str] | None, outputs: Sequence[str] | None) -> None:
    """Leave the part of the main graph that computes `outputs` from `inputs`, in place.

    None stands for the graph's own; of those inputs the unused ones go. Raises InputError for a name that is not in the
    graph, ExportError where an output does not follow from the inputs alone.
    """
    graph = model.graph
    known = _values(graph)
    for name in (*(inputs or ()), *(outputs or ())):
        if name not in known:
            raise InputError(f'the graph has no tensor "{name}"; {nearest(name, known)}')
    graph_inputs = _own_inputs(graph)
    ends = list(dict.fromkeys(outputs or (value.name for value in graph.output)))
    stops = list(dict.fromkeys(graph_inputs if inputs is None else inputs))
    nodes, needed = _needed(graph, stops, ends)
    _check(graph, nodes, stops, ends)
    unused = [name for name in stops if name not in needed]
    if unused and inputs is not None:
        raise ExportError(f'no output depends on the input "{unused[0]}"; leave it out')
    stops = [name for name in stops if name in needed]
    if stops == graph_inputs and ends == [value.name for value in graph.output] and len(nodes) == len(graph.node):
        return
    types = stated_values(model, (*stops, *ends))
    computed = {name for node in nodes for name in node.output}
    initializers = [tensor for tensor in graph.initializer if tensor.name in needed and tensor.name not in stops]
    sparse = [tensor for tensor in graph.sparse_initializer if tensor.values.name in needed - set(stops)]
    weights = {tensor.name for tensor in initializers}
    inner = (computed | weights) - {*stops, *ends}
    kept = (
        (graph.node, [_without(node, stops) for node in nodes]),
        (graph.input, [types[name] for name in stops] + [value for value in graph.input if value.name in weights]),
        (graph.output, [types[name] for name in ends]),
        (graph.initializer, initializers),
        (graph.sparse_initializer, sparse),
        (graph.value_info, [value for value in graph.value_info if value.name in inner]),
        (
            graph.quantization_annotation,
            [a for a in graph.quantization_annotation if a.tensor_name in computed | weights],
        ),
    )
    for field, items in kept:
        del field[:]
        field.extend(items)


def _own_inputs(graph: onnx.GraphProto) -> list[str]:
    """Old files list initializers among the inputs."""
    initializers = {tensor.name for tensor in graph.initializer}
    return [value.name for value in graph.input if value.name not in initializers]


def _values(graph: onnx.GraphProto) -> set[str]:
    initializers = {tensor.name for tensor in graph.initializer} | {t.values.name for t in graph.sparse_initializer}
    computed = {name for node in graph.node for name in node.output if name}
    return computed | initializers | {value.name for value in graph.input}


def _needed(graph: onnx.GraphProto, stops: Sequence[str], ends: Sequence[str]) -> tuple[list[onnx.NodeProto], set[str]]:
    """The nodes behind `ends`, back to `stops`, in order, and all names that they read or give as ends."""
    needed, inner, nodes = set(ends), set(ends) - set(stops), []
    for node in reversed(graph.node):  # in topological order, so one pass finds all
        if inner.isdisjoint(filter(None, node.output)):
            continue
        nodes.append(node)
        needed.update(reads(node))
        inner.update(set(reads(node)) - set(stops))
    return nodes[::-1], needed


def _check(graph: onnx.GraphProto, nodes: Sequence[onnx.NodeProto], stops: Sequence[str], ends: Sequence[str]) -> None:
    """Raise ExportError unless every end follows from the stops, and from them alone."""
    sources: dict[str, set[str]] = {name: {name} for name in (*_own_inputs(graph), *stops)}
    for node in nodes:
        of_node = set().union(*(sources.get(name, ()) for name in reads(node)))
        sources.update((name, of_node) for name in node.output if name and name not in stops)
    for end in ends:
        if end in stops:
            raise ExportError(f'"{end}" is an input and an output; give another output')
        inputs = sources.get(end, set())
        for name in _own_inputs(graph):
            if name in inputs and name not in stops:
                raise ExportError(
                    f'output "{end}" also needs the input "{name}"; add it to the inputs, or choose '
                    "inputs through which all of it goes"
                )
        if not inputs:
            raise ExportError(f'output "{end}" does not depend on any input; it is a constant')


def _without(node: onnx.NodeProto, stops: Sequence[str]) -> onnx.NodeProto:
    """The node; one of its outputs may be an input of the piece now, and gets another name then."""
    for index, name in enumerate(node.output):
        if name in stops:
            node.output[index] = f"{name}/unused"
    return node
