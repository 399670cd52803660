"""Where a QuantizeLinear and its DequantizeLinear stand, so that ONNX Runtime and TensorRT both fuse them."""

from collections import defaultdict
from collections.abc import Collection

import numpy as np
import onnx
from onnx import numpy_helper

from rewriters.onnx_graph.readers import readers_of

QUANTIZE, DEQUANTIZE = "QuantizeLinear", "DequantizeLinear"
ABSORBED = ("Relu",)


def free_activations(model: onnx.ModelProto) -> int:
    """Take out, in place, the pair between a layer and the Relu that alone reads it, where another follows the Relu.

    A layer, its Relu and one QuantizeLinear are one kernel on both backends; a pair between them costs a kernel each,
    and half of int8's steps, which would go to what the Relu drops. The number of pairs that were taken out.
    """
    graph = model.graph
    makers, readers = _makers(model), readers_of(model)
    ends = {value.name for value in graph.output}
    dropped: set[int] = set()
    for node in graph.node:
        if node.op_type not in ABSORBED or any(reader.op_type != QUANTIZE for reader in readers[node.output[0]]):
            continue
        dequantize = makers.get(node.input[0])
        if dequantize is None or dequantize.op_type != DEQUANTIZE or len(readers[node.input[0]]) > 1:
            continue
        quantize = makers.get(dequantize.input[0])
        if quantize is None or len(readers[quantize.input[0]]) > 1 or ends & {quantize.input[0], node.input[0]}:
            continue
        node.input[0] = quantize.input[0]
        dropped |= {id(quantize), id(dequantize)}
    kept = [node for node in graph.node if id(node) not in dropped]
    del graph.node[:]
    graph.node.extend(kept)
    return len(dropped) // 2


def unrounded(model: onnx.ModelProto, quantized: Collection[str], *, also_of_layers: bool) -> None:
    """Give floats, in place, to what reads a tensor beside nodes that read its int8.

    `quantized`: the names of these nodes. A module in fp32, or a decoding, reads numbers that are not rounded then.
    `also_of_layers`: of tensors that a quantised node gives, too. ONNX Runtime computes that one in fp32; TensorRT does
    not need to.
    """
    makers, readers = _makers(model), readers_of(model)
    ends = {value.name for value in model.graph.output}
    for node in model.graph.node:
        source = makers.get(node.input[0]) if node.op_type == DEQUANTIZE else None
        if source is None or node.output[0] in ends or len(readers[node.output[0]]) == 1:
            continue
        maker = makers.get(source.input[0])
        if not also_of_layers and maker is not None and maker.name in quantized:
            continue
        for reader in readers[node.output[0]]:
            if reader.name not in quantized:
                _replace_input(reader, node.output[0], source.input[0])


def own_pairs(model: onnx.ModelProto) -> None:
    """Give each reader of a tensor with negative numbers (int8) a pair of its own, in place.

    ONNX Runtime computes on uint8, and makes it of an int8 tensor only where one DequantizeLinear reads it. Pairs that
    are equal it merges again, so each has the next float32 as its scale: no number changes its step.
    """
    graph = model.graph
    tensors = {tensor.name: tensor for tensor in graph.initializer}
    makers, readers = _makers(model), readers_of(model)
    ends = {value.name for value in graph.output}
    added: dict[int, list[onnx.NodeProto]] = defaultdict(list)
    for node in graph.node:
        source = makers.get(node.input[0]) if node.op_type == DEQUANTIZE else None
        if source is None or node.output[0] in ends or len(readers[node.output[0]]) == 1:
            continue
        if tensors[node.input[2]].data_type != onnx.TensorProto.INT8:
            continue
        scale = numpy_helper.to_array(tensors[node.input[1]])
        for reader in readers[node.output[0]]:
            name = f"{node.output[0]}_{len(graph.initializer)}"
            graph.initializer.append(numpy_helper.from_array(scale, f"{name}_scale"))
            added[id(reader)] += [
                onnx.helper.make_node(kind, [read, f"{name}_scale", node.input[2]], [written], written)
                for kind, read, written in (
                    (QUANTIZE, source.input[0], f"{name}_q"),
                    (DEQUANTIZE, f"{name}_q", name),
                )
            ]
            scale = np.nextafter(scale, np.float32(np.inf))
            _replace_input(reader, node.output[0], name)
    nodes = [_copied(item) for node in graph.node for item in (*added.get(id(node), ()), node)]
    del graph.node[:]
    graph.node.extend(nodes)


def _makers(model: onnx.ModelProto) -> dict[str, onnx.NodeProto]:
    return {name: node for node in model.graph.node for name in node.output}


def _replace_input(node: onnx.NodeProto, before: str, after: str) -> None:
    node.input[:] = [after if name == before else name for name in node.input]


def _copied(node: onnx.NodeProto) -> onnx.NodeProto:
    copy = onnx.NodeProto()
    copy.CopyFrom(node)
    return copy
