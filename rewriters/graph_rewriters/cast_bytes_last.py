"""Casts to unsigned bytes moved to the outputs, for backends that take these there alone."""

import onnx
from onnx import TensorProto

from rewriters.graph_rewriters.graph_rewriter import Edited, graph_rewriter
from rewriters.onnx_graph.keep_metadata import hand_down

MOVERS = frozenset(
    {
        "Concat",
        "Expand",
        "Flatten",
        "Gather",
        "Identity",
        "Reshape",
        "Slice",
        "Squeeze",
        "Tile",
        "Transpose",
        "Unsqueeze",
    }
)
"""Operators that pass on the elements of their first input (of Concat: of all) as they are."""


@graph_rewriter()
def cast_bytes_last(model: onnx.ModelProto) -> Edited:
    """Let what only moves uint8 values move int32 ones, cast at the outputs: TensorRT takes uint8 nowhere else.

    Only where all that reads a cast to uint8, up to the outputs, moves values; other graphs stay as they are.
    """
    graph = model.graph
    makers = {name: node for node in graph.node for name in node.output}
    casts = [node for node in graph.node if _to_bytes(node) and not _is_output(graph, node.output[0])]
    moved = {name for cast in casts for name in _behind(graph, cast.output[0])}
    kept = [node for node in casts if not _only_moved(graph, node.output[0])]
    ends = [value.name for value in graph.output if value.name in moved]
    if not casts or kept or not all(_all_moved(makers[name], makers, casts) for name in ends):
        return model, []
    for cast in casts:
        next(one for one in cast.attribute if one.name == "to").i = TensorProto.INT32
    taken = {*makers, *(tensor.name for tensor in graph.initializer), *(value.name for value in graph.input)}
    for name in ends:
        wide, maker, before = _free(f"{name}_int32", taken), makers[name], onnx.NodeProto()
        before.CopyFrom(maker)
        _rename(graph, name, wide)
        node = onnx.helper.make_node("Cast", [wide], [name], f"{name}/cast_bytes_last", to=TensorProto.UINT8)
        del maker.metadata_props[:]
        hand_down(before, [maker, node])
        graph.node.append(node)
    for value in graph.value_info:
        if value.name in moved or value.name in {cast.output[0] for cast in casts}:
            value.type.tensor_type.elem_type = TensorProto.INT32
    return model, [f"{name} is cast to uint8 at the output" for name in ends]


def _to_bytes(node: onnx.NodeProto) -> bool:
    return node.op_type == "Cast" and any(one.name == "to" and one.i == TensorProto.UINT8 for one in node.attribute)


def _is_output(graph: onnx.GraphProto, name: str) -> bool:
    return any(value.name == name for value in graph.output)


def _behind(graph: onnx.GraphProto, name: str) -> set[str]:
    """The values that movers make of one, itself left out."""
    values: set[str] = set()
    for node in graph.node:  # in topological order
        if node.op_type in MOVERS and ({name} | values) & set(_moved_inputs(node)):
            values.update(node.output)
    return values


def _moved_inputs(node: onnx.NodeProto) -> list[str]:
    return list(node.input) if node.op_type == "Concat" else list(node.input[:1])


def _only_moved(graph: onnx.GraphProto, name: str) -> bool:
    """Whether all that reads a value, or what comes of it, moves it; subgraphs are not looked into."""
    names = {name} | _behind(graph, name)
    for node in graph.node:
        if any(attribute.type == onnx.AttributeProto.GRAPH for attribute in node.attribute):
            return False
        read = names & set(node.input)
        if read and not (node.op_type in MOVERS and read <= set(_moved_inputs(node))):
            return False
    return True


def _all_moved(node: onnx.NodeProto, makers: dict[str, onnx.NodeProto], casts: list[onnx.NodeProto]) -> bool:
    """Whether every element of a mover's result comes from one of the casts, none from a stored uint8 tensor."""
    if node in casts:
        return True
    if node.op_type not in MOVERS:
        return False
    return all(name in makers and _all_moved(makers[name], makers, casts) for name in _moved_inputs(node))


def _free(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "_"
    taken.add(name)
    return name


def _rename(graph: onnx.GraphProto, old: str, new: str) -> None:
    """A value inside the graph."""
    for node in graph.node:
        node.input[:] = [new if name == old else name for name in node.input]
        node.output[:] = [new if name == old else name for name in node.output]
