"""Which nodes of a graph read a tensor."""

from collections import defaultdict

import onnx


def readers_of(model: onnx.ModelProto) -> dict[str, list[onnx.NodeProto]]:
    """Name of a tensor -> the nodes of the main graph that have it as an input, in the order of the graph, once each.

    A tensor that none reads has an empty list.
    """
    readers: dict[str, list[onnx.NodeProto]] = defaultdict(list)
    for node in model.graph.node:
        for name in dict.fromkeys(node.input):
            readers[name].append(node)
    return readers
