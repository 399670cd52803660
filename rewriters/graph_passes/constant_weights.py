"""Weights that are computed of other weights, computed once: standardized, normalized or scaled by a gain.

    Conv(x, BatchNormalization(w), b)  ->  Conv(x, v, b)        where no input of the graph reaches w

The numbers are the same. A quantized convolution needs its weights as they are, and TensorRT refuses the batch norm of
a weight.
"""

from collections.abc import Iterator, Mapping

import onnx

from rewriters.graph_passes.fold_constants import fold_constants
from rewriters.onnx_graph.scopes import captured
from rewriters.onnx_graph.value_types import byte_size, value_types
from zoo.byte_sizes import MEBIBYTE

LAYERS = ("Conv", "ConvTranspose", "Gemm", "MatMul")
WEIGHTS = 1
"""The place among a layer's inputs."""
VIEWS = ("Constant", "Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze")
"""What computes nothing: weights that are only seen in another shape may be shared, and would be in the file twice."""


def constant_weights(model: onnx.ModelProto) -> None:
    """Fold what the weights of the main graph's layers are computed by, in place."""
    makers = {output: node for node in model.graph.node for output in node.output if output}
    constant = set(_made_of_constants(model.graph))
    wanted: set[str] = set()
    weights: set[str] = set()
    for node in model.graph.node:
        if node.op_type in LAYERS and node.input[WEIGHTS] in constant:
            chain = _chain(node.input[WEIGHTS], makers)
            if any(maker.op_type not in VIEWS for maker in chain):
                wanted.update(output for maker in chain for output in maker.output)
                weights.add(node.input[WEIGHTS])
    if wanted:
        types = value_types(model)
        largest = max(byte_size(types.get(name)) or 0 for name in weights)  # whatever they are computed of
        fold_constants(model, max(largest, MEBIBYTE), wanted)


def _chain(name: str, makers: Mapping[str, onnx.NodeProto]) -> list[onnx.NodeProto]:
    """All nodes that a value is computed by."""
    chain: dict[int, onnx.NodeProto] = {}
    pending = [name]
    while pending:
        maker = makers.get(pending.pop())
        if maker is not None and id(maker) not in chain:
            chain[id(maker)] = maker
            pending.extend(_read(maker))
    return list(chain.values())


def _made_of_constants(graph: onnx.GraphProto) -> Iterator[str]:
    """Values that nodes compute of no input of the graph."""
    inputs = {value.name for value in graph.input}
    known = {tensor.name for tensor in graph.initializer} - inputs
    for node in graph.node:
        if known.issuperset(_read(node)):
            known.update(node.output)
            yield from filter(None, node.output)


def _read(node: onnx.NodeProto) -> set[str]:
    return {*filter(None, node.input), *captured(node)}
