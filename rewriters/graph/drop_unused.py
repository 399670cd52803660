"""Dropping nodes and initializers that reach no output."""

import onnx

from rewriters.graph.reads import reads


def drop_unused(model: onnx.ModelProto) -> None:
    """In place, main graph only. Nodes are in topological order, so one backward pass finds all."""
    graph = model.graph
    needed = {output.name for output in graph.output}
    kept = []
    for node in reversed(graph.node):
        if needed & set(node.output):
            needed.update(reads(node))
            kept.append(node)
    initializers = [initializer for initializer in graph.initializer if initializer.name in needed]
    for field, items in ((graph.node, list(reversed(kept))), (graph.initializer, initializers)):
        del field[:]
        field.extend(items)
