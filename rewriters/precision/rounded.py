"""An fp16 graph as fp32 arithmetic whose results are rounded to fp16: what fp16 kernels give, on a CPU.

ONNX Runtime's CPU provider computes fp16 nodes in fp32 and leaves out the casts between them, at every level of
optimisation (seen in 1.31): of the fp16 in a file only the rounding of weights is left, and nothing overflows. Its
numbers say too little of those of a GPU. Casts of the graph's own, from fp32 to fp16 and back, it does compute.

What is not shown: sums within a kernel, which GPUs collect in fp32 or in fp16, and what they join without rounding.
"""

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, numpy_helper

from rewriters.onnx_graph.keep_metadata import hand_down
from rewriters.onnx_graph.value_types import value_types

FLOAT, HALF = TensorProto.FLOAT, TensorProto.FLOAT16


def rounded(model: onnx.ModelProto) -> onnx.ModelProto:
    """The same inputs and outputs, their dtypes included; the model given, as cast_to_fp16 makes it, stays."""
    result = onnx.ModelProto()
    result.CopyFrom(model)
    graph = result.graph
    halves = {name for name, kind in value_types(model).items() if kind.tensor_type.elem_type == HALF}
    ends = {value.name for value in (*graph.input, *graph.output)} & halves
    for tensor in graph.initializer:
        if tensor.data_type == HALF and tensor.name not in ends:
            tensor.CopyFrom(numpy_helper.from_array(numpy_helper.to_array(tensor).astype(np.float32), tensor.name))
    nodes: list[NodeProto] = [
        _cast(value.name, _wide(value.name), FLOAT) for value in graph.input if value.name in ends
    ]
    for node in graph.node:
        halved = [name for name in node.output if name in halves]
        before = NodeProto()
        before.CopyFrom(node)
        node.input[:] = [_wide(name) if name in ends else name for name in node.input]
        node.output[:] = [_raw(name) if name in halves else name for name in node.output]
        for attribute in node.attribute:
            if node.op_type == "Cast" and attribute.name == "to" and attribute.i == HALF:
                attribute.i = FLOAT
        taking = [node]
        for name in halved:
            half, wide = (name, _wide(name)) if name in ends else (_half(name), name)
            taking += [_cast(_raw(name), half, HALF), _cast(half, wide, FLOAT)]
        del node.metadata_props[:]
        hand_down(before, taking)  # the module too, for those who look for its results
        nodes += taking
    del graph.node[:]
    graph.node.extend(nodes)
    values = [value for value in graph.value_info if value.type.tensor_type.elem_type != HALF]
    del graph.value_info[:]
    graph.value_info.extend(values)
    return result


def _raw(name: str) -> str:
    return f"{name}/raw"


def _half(name: str) -> str:
    return f"{name}/half"


def _wide(name: str) -> str:
    return f"{name}/wide"


def _cast(source: str, result: str, dtype: int) -> NodeProto:
    return onnx.helper.make_node("Cast", [source], [result], f"{result}/cast", to=dtype)
