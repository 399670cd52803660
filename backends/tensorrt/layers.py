"""What a network computes in: counted by the layers that do its work.

The network is strongly typed, so an engine computes in the types that it has. The counterpart of
rewriters.precision.report, which counts the nodes of the ONNX file in the same way.
"""

from collections import Counter
from collections.abc import Mapping
from types import ModuleType
from typing import Any

DTYPES = {"FLOAT": "float32", "HALF": "float16", "BF16": "bfloat16"}  # others are numpy's name in capitals
FACTORS = 2  # of a product: the first inputs of its layer


def layer_counts(trt: ModuleType, network: Any) -> Mapping[str, int]:
    """How many convolutions and products of matrices compute in each type: numpy's name of their input's -> count.

    They take nearly all of a network's time; the rest follows them. "int8" where both factors come from a
    DequantizeLinear: TensorRT runs such a layer on the bytes. Layers of branches and loops count.
    """
    kinds = trt.LayerType
    work = (kinds.CONVOLUTION, kinds.DECONVOLUTION, kinds.MATRIX_MULTIPLY, kinds.EINSUM)
    layers = [network.get_layer(index) for index in range(network.num_layers)]
    makers = {
        tensor.name: layer for layer in layers for tensor in map(layer.get_output, range(layer.num_outputs)) if tensor
    }
    counts = Counter(_type(trt, layer, makers) for layer in layers if layer.type in work)
    return dict(sorted(counts.items()))


def _type(trt: ModuleType, layer: Any, makers: Mapping[str, Any]) -> str:
    factors = [tensor for tensor in map(layer.get_input, range(min(layer.num_inputs, FACTORS))) if tensor]
    if len(factors) == FACTORS and all(_dequantised(trt, tensor, makers) for tensor in factors):
        return "int8"
    tensor = factors[0]
    return dtype_name(tensor.dtype)


def _dequantised(trt: ModuleType, tensor: Any, makers: Mapping[str, Any]) -> bool:
    """Whether a DequantizeLinear makes it. What the parser may put between leaves the values as they are."""
    kinds = trt.LayerType
    passed = (kinds.SHUFFLE, kinds.SQUEEZE, kinds.UNSQUEEZE, kinds.IDENTITY)
    layer = makers.get(tensor.name)
    while layer is not None and layer.type in passed:
        tensor = layer.get_input(0)
        layer = makers.get(tensor.name)
    return layer is not None and bool(layer.type == kinds.DEQUANTIZE)


def dtype_name(dtype: Any) -> str:
    """TensorRT's data type by numpy's name."""
    name: str = dtype.name
    return DTYPES.get(name, name.lower())
