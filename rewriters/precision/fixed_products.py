"""Products with constants that are no weights of a network: they look like layers, and their numbers need fp32.

A detector's boxes may be the mean of a softmax over bins, written as a convolution with 0, 1, 2 ... (YOLOv8's DFL): of
16 bins of 32 pixels each step of int8 is 4 pixels. A resize with antialiasing is a product with a matrix whose results
are means, each with shares that sum to 1: behind the last layer it makes the logits or the image.
"""

from collections.abc import Mapping

import numpy as np
import onnx
from onnx import NodeProto, TensorProto, numpy_helper

from rewriters.onnx_graph.opset import STANDARD
from rewriters.precision.layers import LAYERS

BINS = "the mean of a softmax's bins: decoding, no layer"
MEANS = "means with fixed shares, as of a resize: no layer"
MOVES = ("Cast", "Flatten", "Identity", "Reshape", "Slice", "Split", "Squeeze", "Transpose", "Unsqueeze")
"""What hands on the numbers of its first input as they are."""
NEAR = 1e-5  # how far float32 shares of thousands of elements are from 1 together
MATRIX = 2  # axes


def fixed_products(model: onnx.ModelProto) -> dict[int, str]:
    """The places in `model.graph.node` of such products -> what they are. Constants must be folded.

    Of a softmax's numbers these are products that give one result of all bins; one with several may be a layer.
    """
    constants = {tensor.name: tensor for tensor in model.graph.initializer}
    makers = {name: node for node in model.graph.node for name in node.output}
    products = {}
    for place, node in enumerate(model.graph.node):
        if node.op_type not in LAYERS or node.domain not in STANDARD or constants.keys().isdisjoint(node.input):
            continue
        numbers = next(constants[name].dims for name in node.input if name in constants)
        if sum(size > 1 for size in numbers) == 1 and any(_is_softmax(name, makers) for name in node.input[:2]):
            products[place] = BINS
        elif node.op_type == "MatMul" and _gives_means(node, constants):
            products[place] = MEANS
    return products


def _is_softmax(name: str, makers: Mapping[str, NodeProto]) -> bool:
    node = makers.get(name)
    while node is not None and node.op_type in MOVES:
        node = makers.get(node.input[0])
    return node is not None and node.op_type == "Softmax"


def _gives_means(node: NodeProto, constants: Mapping[str, TensorProto]) -> bool:
    """The shares of one result are a row of the first factor, a column of the second."""
    for name, axis in zip(node.input, (1, 0), strict=True):
        if name in constants and len(constants[name].dims) == MATRIX:
            sums = numpy_helper.to_array(constants[name]).astype(np.float64).sum(axis=axis)
            return bool(np.all(np.abs(sums - 1) < NEAR))
    return False
