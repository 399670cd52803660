"""Which bits int8 weights may have, so that no kernel's sum of two products leaves 16 bits.

x86 without VNNI multiplies uint8 by int8 and adds neighbours in 16 bits (vpmaddubsw): what is beyond them saturates
in silence, and ONNX Runtime and OpenVINO compute so. Two weights of one sign whose steps sum up to 128 at most cannot
get there, whichever two a kernel adds: 255 * 128 = 32640. Seven bits, 64 steps on each side, are such weights. Engines
of TensorRT add in 32 bits, and take all eight.
"""

from collections.abc import Iterator

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper

from rewriters.precision.layers import LAYERS
from rewriters.precision.qdq_forms import DEQUANTIZE
from zoo.errors import ExportError

SEVEN = 7
LARGEST_ACTIVATION = 255  # int8 activations, too: the kernels add 128 to them, and take it off the sum
LARGEST_SUM = 2**15 - 1


def check_pair_sums(model: onnx.ModelProto) -> None:
    """Raises ExportError for a layer of which two weights could leave 16 bits, on the largest activations."""
    for node, weights in quantized_weights(model):
        largest = 2 * LARGEST_ACTIVATION * int(np.abs(weights.astype(np.int64)).max(initial=0))
        if largest > LARGEST_SUM:
            raise ExportError(
                f"int8: two products of {node.op_type} {node.name} give {largest}, expected {LARGEST_SUM} at most: "
                "a CPU without VNNI would saturate; its weights need 7 bits. This is a fault of zooport: report it"
            )


def quantized_weights(model: onnx.ModelProto) -> Iterator[tuple[onnx.NodeProto, np.ndarray]]:
    """The layers of the main graph whose second input is a stored int8 tensor, and that tensor."""
    tensors = {tensor.name: tensor for tensor in model.graph.initializer if tensor.data_type == TensorProto.INT8}
    stored = {node.output[0]: node.input[0] for node in model.graph.node if node.op_type == DEQUANTIZE}
    for node in model.graph.node:
        if node.op_type in LAYERS and len(node.input) > 1 and stored.get(node.input[1]) in tensors:
            yield node, numpy_helper.to_array(tensors[stored[node.input[1]]])
