"""Along which axis of a layer's weights their scales run, and that no two layers mean different ones."""

from collections.abc import Sequence

import onnx

from rewriters.onnx_graph.reads import reads

MATRIX = 2  # axes
NO_SCALES = -1


def own_weights(model: onnx.ModelProto, layers: Sequence[int]) -> list[str]:
    """Give each axis of scales that layers have for one weight a copy of it, in place; the weights with one scale each.

    `layers`: places of nodes whose second input is their weight. The quantiser makes one set of scales of a weight,
    along the axis of the layer that it sees last; along another axis ONNX Runtime's optimiser computes wrong numbers
    with it. A weight that other nodes read, too, stays theirs: a layer in fp32 reads numbers that are not rounded. A
    product with a stack of matrices, or with a vector, has one scale: ONNX Runtime runs no others.
    """
    tensors = {tensor.name: tensor for tensor in model.graph.initializer}
    others = {name for place, node in enumerate(model.graph.node) if place not in layers for name in reads(node)}
    axes: dict[str, int | None] = dict.fromkeys(others, NO_SCALES)
    copies: dict[tuple[str, int | None], str] = {}
    for place in layers:
        node = model.graph.node[place]
        name = node.input[1]
        axis = _axis(node, len(tensors[name].dims))
        if axes.setdefault(name, axis) != axis:
            if (name, axis) not in copies:
                copies[name, axis] = _copy(model, tensors[name], f"{name}_for_{node.name}")
            node.input[1] = copies[name, axis]
            axes[node.input[1]] = axis
    return [name for name, axis in axes.items() if axis is None]


def _axis(node: onnx.NodeProto, rank: int) -> int | None:
    """Of the results' channels."""
    if node.op_type == "Conv":
        return 0
    if node.op_type == "Gemm":
        turned = any(attribute.name == "transB" and attribute.i for attribute in node.attribute)
        return 0 if turned else 1
    return 1 if node.op_type == "ConvTranspose" or rank == MATRIX else None


def _copy(model: onnx.ModelProto, tensor: onnx.TensorProto, name: str) -> str:
    taken = {tensor.name for tensor in model.graph.initializer}
    while name in taken:
        name += "_"
    copy = model.graph.initializer.add()
    copy.CopyFrom(tensor)
    copy.name = name
    return name
