"""Dropping nodes and initializers that reach no output, and what is declared of their values."""

import onnx

from rewriters.onnx_graph.reads import reads
from rewriters.onnx_graph.scopes import subgraphs


def drop_unused(model: onnx.ModelProto) -> int:
    """In place, in subgraphs as well; how many nodes and initializers were dropped.

    An input keeps its initializer, which is its default.
    """
    return _drop(model.graph)


def _drop(graph: onnx.GraphProto) -> int:
    """Nodes are in topological order, so one backward pass finds all."""
    dropped = 0
    needed = {value.name for value in (*graph.input, *graph.output)}
    kept = []
    for node in reversed(graph.node):
        if needed & set(node.output):
            dropped += sum(map(_drop, subgraphs(node)))
            needed.update(reads(node))
            kept.append(node)
    initializers = [initializer for initializer in graph.initializer if initializer.name in needed]
    here = len(graph.node) - len(kept) + len(graph.initializer) - len(initializers)
    if here:
        available = needed.union(*(node.output for node in kept))
        values = [value for value in graph.value_info if value.name in available]
        for field, items in (
            (graph.node, list(reversed(kept))),
            (graph.initializer, initializers),
            (graph.value_info, values),
        ):
            del field[:]
            field.extend(items)
    return dropped + here
