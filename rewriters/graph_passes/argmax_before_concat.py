"""The best label of each piece, then the pieces together: logits of a large image are never whole.

    ArgMax(Concat(a, b, ..., axis=2), axis=1)  ->  Concat(ArgMax(a, axis=1), ArgMax(b, axis=1), ..., axis=2 or 1)

Slide inference joins its windows from pieces. A label map of 2048x2048 pixels and 19 classes takes 32 MB where its
logits take 304.
"""

from collections import Counter

import onnx

from rewriters.onnx_graph.keep_metadata import hand_down
from rewriters.onnx_graph.reads import reads


def argmax_before_concat(model: onnx.ModelProto) -> int:
    """Change every such ArgMax of the main graph, in place, where nothing else reads the whole; how many changed."""
    makers = {output: node for node in model.graph.node for output in node.output}
    readers = Counter(name for node in model.graph.node for name in reads(node))
    readers.update(output.name for output in model.graph.output)
    changed = 0
    nodes: list[onnx.NodeProto] = []
    for node in model.graph.node:
        joined = makers.get(node.input[0]) if node.op_type == "ArgMax" else None
        if joined is None or joined.op_type != "Concat" or readers[node.input[0]] > 1 or not _other_axes(node, joined):
            nodes.append(node)
            continue
        nodes.extend(_by_pieces(node, joined))
        changed += 1
    del model.graph.node[:]
    model.graph.node.extend(nodes)
    return changed


def _attribute(node: onnx.NodeProto, name: str, default: int) -> int:
    values = [attribute.i for attribute in node.attribute if attribute.name == name]
    return values[0] if values else default


def _other_axes(argmax: onnx.NodeProto, concat: onnx.NodeProto) -> bool:
    """Whether the pieces lie along another axis, both counted from the first."""
    axes = _attribute(argmax, "axis", 0), _attribute(concat, "axis", 0)
    return min(axes) >= 0 and axes[0] != axes[1]


def _by_pieces(argmax: onnx.NodeProto, concat: onnx.NodeProto) -> list[onnx.NodeProto]:
    nodes = []
    for index, piece in enumerate(concat.input):
        node = onnx.NodeProto()
        node.CopyFrom(argmax)
        del node.metadata_props[:]
        node.name, node.input[0], node.output[0] = f"{argmax.name}/{index}", piece, f"{argmax.output[0]}/{index}"
        nodes.append(node)
    axis, over = _attribute(concat, "axis", 0), _attribute(argmax, "axis", 0)
    if not _attribute(argmax, "keepdims", 1) and axis > over:
        axis -= 1
    pieces = [node.output[0] for node in nodes]
    joined = onnx.helper.make_node("Concat", pieces, [argmax.output[0]], argmax.name, axis=axis)
    hand_down(argmax, [*nodes, joined])
    return [*nodes, joined]
