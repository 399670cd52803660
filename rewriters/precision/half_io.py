"""fp16 at a graph's ends as well: inputs and outputs that are float32 keep their names and become float16.

Inputs with a default stay: a threshold that is rounded decides otherwise.
"""

from collections.abc import Mapping

import onnx
from onnx import NodeProto, TensorProto

from rewriters.graph_passes.drop_unused import drop_unused
from rewriters.onnx_graph.scopes import every_graph, rename_reads
from rewriters.onnx_graph.value_types import value_types


def half_io(model: onnx.ModelProto) -> tuple[str, ...]:
    """In place; the names of the inputs and outputs that changed."""
    graph = model.graph
    taken = {name for inner in every_graph(graph) for node in inner.node for name in node.output}
    taken |= {value.name for value in graph.input} | {tensor.name for tensor in graph.initializer}
    defaults = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if _is_float(value) and value.name not in defaults]
    outputs = [value for value in graph.output if _is_float(value)]
    full = {value.name: _free(value.name, taken) for value in (*inputs, *outputs)}
    nodes = [_cast(value.name, full[value.name], TensorProto.FLOAT) for value in inputs]
    for node in graph.node:
        rename_reads(node, full)
        node.output[:] = [full.get(name, name) for name in node.output]
        nodes.append(node)
    nodes += [_cast(full[value.name], value.name, TensorProto.FLOAT16) for value in outputs]
    del graph.node[:]
    graph.node.extend(nodes)
    for value in (*inputs, *outputs):
        value.type.tensor_type.elem_type = TensorProto.FLOAT16
    _join_casts(graph, value_types(model))
    drop_unused(model)
    return tuple(full)


def _join_casts(graph: onnx.GraphProto, types: Mapping[str, onnx.TypeProto]) -> None:
    """What was fp16, is cast to fp32 and back, is read as it was; an output of that kind is given as it was."""
    casts = {node.output[0]: node for node in graph.node if node.op_type == "Cast"}
    inputs, outputs = ({value.name for value in ends} for ends in (graph.input, graph.output))
    names: dict[str, str] = {}
    kept = []
    for node in graph.node:
        before = casts.get(node.input[0]) if _to(node) == TensorProto.FLOAT16 else None
        if before is None or _to(before) != TensorProto.FLOAT or not _is_half(types.get(before.input[0])):
            kept.append(node)
            continue
        half, end = before.input[0], node.output[0]
        if end not in outputs:
            names[end] = half
        elif half not in inputs | outputs and half not in names:
            names[half] = end
        else:
            kept.append(node)
    names = {name: names.get(new, new) for name, new in names.items()}
    for node in kept:
        rename_reads(node, names)
        node.output[:] = [names.get(name, name) for name in node.output]
    values = [value for value in graph.value_info if value.name not in names]
    for field, items in ((graph.node, kept), (graph.value_info, values)):
        del field[:]
        field.extend(items)


def _is_half(kind: onnx.TypeProto | None) -> bool:
    return kind is not None and kind.tensor_type.elem_type == TensorProto.FLOAT16


def _to(node: NodeProto) -> int:
    if node.op_type != "Cast":
        return TensorProto.UNDEFINED
    return int(next(attribute.i for attribute in node.attribute if attribute.name == "to"))


def _free(name: str, taken: set[str]) -> str:
    full = f"{name}_fp32"
    while full in taken:
        full += "_"
    taken.add(full)
    return full


def _cast(source: str, result: str, dtype: int) -> NodeProto:
    return onnx.helper.make_node("Cast", [source], [result], f"{result}_cast", to=dtype)


def _is_float(value: onnx.ValueInfoProto) -> bool:
    return value.type.tensor_type.elem_type == TensorProto.FLOAT
