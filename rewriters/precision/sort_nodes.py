"""Nodes in an order in which each stands behind what it reads.

The quantiser's own sort overlooks what the body of a Loop reads of the graph around it.
"""

import onnx

from rewriters.onnx_graph.reads import reads


def sort_nodes(model: onnx.ModelProto) -> None:
    """Sort the main graph's nodes, in place; those that stood right stay in their order."""
    nodes = list(model.graph.node)
    maker = {name: place for place, node in enumerate(nodes) for name in node.output if name}
    ordered: list[onnx.NodeProto] = []
    placed: set[int] = set()
    for start in range(len(nodes)):
        stack = [start]
        while stack:
            place = stack[-1]
            missing = [maker[name] for name in reads(nodes[place]) if name in maker and maker[name] not in placed]
            if place in placed or not missing:
                stack.pop()
                if place not in placed:
                    placed.add(place)
                    copy = onnx.NodeProto()
                    copy.CopyFrom(nodes[place])
                    ordered.append(copy)
            else:
                stack.extend(sorted(missing, reverse=True))
    del model.graph.node[:]
    model.graph.node.extend(ordered)
