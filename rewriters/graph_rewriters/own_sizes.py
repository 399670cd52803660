"""Sizes that come from the graph's input, taken from an input of the module instead.

    n = Squeeze(Shape(images) [0:1])  ->  n = Squeeze(Shape(features) [0:1])      both have an axis "batch" there

dynamo takes a size from the graph's input once, for all modules; without this it would be an input of each.
"""

from collections.abc import Mapping, Sequence

import onnx

from rewriters.onnx_graph.stated_values import known_values

CARRIES_ON = ("Squeeze", "Unsqueeze", "Reshape", "Identity", "Cast")  # what may lie between a Shape and its reader


def own_sizes(model: onnx.ModelProto, inputs: Sequence[str]) -> list[str]:
    """The inputs without such sizes, whose Shape reads another of the inputs now; the model is changed in place."""
    makers = {name: node for node in model.graph.node for name in node.output}
    known = known_values(model)
    shapes = {name: _shape_node(name, makers) for name in inputs}
    axes = {
        dim.dim_param: (name, axis)
        for name in reversed(inputs)
        if shapes[name] is None and name in known
        for axis, dim in enumerate(known[name].type.tensor_type.shape.dim)
        if dim.dim_param
    }
    return [name for name, shape in shapes.items() if shape is None or not _moved(shape, known, axes)]


def _shape_node(name: str, makers: Mapping[str, onnx.NodeProto]) -> onnx.NodeProto | None:
    node = makers.get(name)
    while node is not None and node.op_type in CARRIES_ON:
        node = makers.get(node.input[0])
    return node if node is not None and node.op_type == "Shape" else None


def _moved(
    shape: onnx.NodeProto, known: Mapping[str, onnx.ValueInfoProto], axes: Mapping[str, tuple[str, int]]
) -> bool:
    """Whether the Shape takes one axis alone, of a name that an input of the module has; it reads that one then."""
    attributes = {attribute.name: attribute for attribute in shape.attribute}
    if set(attributes) != {"start", "end"} or attributes["end"].i != attributes["start"].i + 1:
        return False
    dims = known[shape.input[0]].type.tensor_type.shape.dim if shape.input[0] in known else ()
    start = attributes["start"].i
    if not 0 <= start < len(dims) or dims[start].dim_param not in axes:
        return False
    shape.input[0], axis = axes[dims[start].dim_param]
    attributes["start"].i, attributes["end"].i = axis, axis + 1
    return True
