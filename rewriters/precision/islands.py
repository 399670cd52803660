"""What stays in fp32 by default, and why: all but the networks, and islands within them.

fp16 is for networks: the layers with weights (Conv, Gemm, MatMul ...) and what lies between two of them. What is
computed of the last layer's results is in fp32: logits, scores, boxes, their decoding, the order of scores, NMS.
Neighbours in fp16 are 0.05 to 0.1 % apart: enough for an activation, and a pixel at 1024. So box decoding need not be
known by its operators, which are Mul and Add like any others: it leads to outputs and to decisions, and to no layer.

In a detector of two stages boxes do lead to layers, by the pooling of features in them. There the way is cut: a value
leads to a layer through the features of a RoIAlign, not through its boxes; through the image of a GridSample, not
its grid; never through a TopK or a NonMaxSuppression. Nor does what is rounded to the number of an element: in a
sampling that is written by gathering, x - floor(x) weighs features, and is made of places. Nor through a Loop or an If,
the forms which these operators have for TensorRT: they stay in fp32 with all that is within, as do plugins.

What makes the first layer's input (colours, mean and std) stays in fp32, too: it is read at full precision elsewhere
(the image that super-resolution adds details to), and costs little, of three channels.
"""

from collections.abc import Set as AbstractSet

import onnx
from onnx import TensorProto

from rewriters.onnx_graph.opset import STANDARD
from rewriters.onnx_graph.scopes import captured, subgraphs
from rewriters.onnx_graph.value_types import value_types
from rewriters.precision.fixed_products import fixed_products
from rewriters.precision.layers import LAYERS

PLACES = "places in an image: above 2048 fp16 has only even numbers"
ORDER = "an order: in fp16 many scores are equal"
SUMS = "a sum that grows with the size"
RANGE = "leaves the range of fp16 soon"
STATISTICS = "statistics of a normalisation: squares, and what is divided by them"
QUANTIZED = "int8 is calibrated for fp32"
OUTSIDE = "outside the networks: before the first layer, or after the last one"
WITHIN = "branches, loops and custom operators stay as they are"

ISLANDS: dict[str, str] = {
    **dict.fromkeys(("AffineGrid", "Ceil", "Cos", "DeformConv", "Floor", "GridSample", "MaxRoiPool"), PLACES),
    **dict.fromkeys(("NonMaxSuppression", "RoiAlign", "Round", "Sin"), PLACES),
    "TopK": ORDER,
    **dict.fromkeys(("CumSum", "GlobalAveragePool", "GlobalLpPool", "LpPool", "ReduceL1", "ReduceSum"), SUMS),
    **dict.fromkeys(("Exp", "Log", "LogSoftmax", "Pow", "ReduceLogSum", "ReduceLogSumExp", "ReduceProd"), RANGE),
    **dict.fromkeys(("Softmax", "Softplus"), RANGE),
    **dict.fromkeys(("GroupNormalization", "InstanceNormalization", "LayerNormalization"), STATISTICS),
    **dict.fromkeys(("LpNormalization", "LRN", "MeanVarianceNormalization", "RMSNormalization"), STATISTICS),
    **dict.fromkeys(("ReduceL2", "ReduceMean", "ReduceSumSquare", "Reciprocal", "Sqrt"), STATISTICS),
    **dict.fromkeys(("DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear"), QUANTIZED),
}
"""Operators that stay in fp32 within a network, too."""
ROUNDING, WHOLE = ("Ceil", "Floor", "Round"), (TensorProto.INT32, TensorProto.INT64)
DECISIONS = ("AffineGrid", "Ceil", "Cos", "CumSum", "Floor", "NonMaxSuppression", "Round", "Sin", "TopK")
"""What leads through them leads to no layer."""
FEATURES = {"DeformConv": (0, 1, 3, 4), "GridSample": (0,), "MaxRoiPool": (0,), "Resize": (0,), "RoiAlign": (0,)}
"""The inputs of an operator that are no places; of others, all."""


def islands(model: onnx.ModelProto, *, everywhere: bool = False) -> dict[int, str]:
    """The places in `model.graph.node` of what stays in fp32 -> why. Constants must be folded: they are no nodes here.

    `everywhere`: outside the networks as well, what is no island is left out.
    """
    inside = range(len(model.graph.node)) if everywhere else networks(model)
    constants = {tensor.name for tensor in model.graph.initializer}
    layers, rounded = _layers(model), _rounded(model)
    reasons = {}
    for place, node in enumerate(model.graph.node):
        if place not in inside:
            reasons[place] = OUTSIDE
        elif reason := _reason(node, constants):
            reasons[place] = reason
        elif place not in layers and not rounded.isdisjoint(node.input):
            reasons[place] = PLACES
    return reasons


def networks(model: onnx.ModelProto) -> set[int]:
    """The places of layers, and of all that lies between two of them."""
    floats = _floats(model)
    layers, rounded = _layers(model), _rounded(model)
    nodes = model.graph.node
    computed = set[str]()  # of a layer's result
    behind = []
    for place, node in enumerate(nodes):
        behind.append(place in layers or not computed.isdisjoint([*node.input, *captured(node)]))
        if behind[-1]:
            computed.update(floats.intersection(node.output))
    leading = set[str]()  # to a layer
    values = set()
    for place, node in reversed(list(enumerate(nodes))):
        if place in layers or not leading.isdisjoint(node.output):
            leading.update(floats.intersection(_passed(node)) - rounded)
            if behind[place]:
                values.add(place)
    return values


def _floats(model: onnx.ModelProto) -> set[str]:
    kinds = {name: kind.tensor_type.elem_type for name, kind in value_types(model).items()}
    return {name for name, kind in kinds.items() if kind in (TensorProto.FLOAT, TensorProto.FLOAT16)}


def _layers(model: onnx.ModelProto) -> set[int]:
    """With weights: a product of two computed matrices may be one of places, or of an interpolation."""
    constants = {tensor.name for tensor in model.graph.initializer}
    fixed = fixed_products(model)
    return {
        place
        for place, node in enumerate(model.graph.node)
        if node.domain in STANDARD
        and node.op_type in LAYERS
        and not constants.isdisjoint(node.input)
        and place not in fixed
    }


def _rounded(model: onnx.ModelProto) -> set[str]:
    """What is rounded to whole numbers, and what comes of it."""
    values = set[str]()
    for node in model.graph.node:
        if node.op_type in ROUNDING:
            values |= {node.input[0], node.output[0]}
        elif node.op_type == "Cast" and any(one.name == "to" and one.i in WHOLE for one in node.attribute):
            values.add(node.input[0])
    return values


def _passed(node: onnx.NodeProto) -> list[str]:
    """The inputs from which a value goes on into the outputs."""
    if node.op_type in DECISIONS or node.domain not in STANDARD or any(subgraphs(node)):
        return []
    places = FEATURES.get(node.op_type, range(len(node.input)))
    return [node.input[place] for place in places if place < len(node.input)]


def _reason(node: onnx.NodeProto, constants: AbstractSet[str]) -> str:
    if node.domain not in STANDARD or any(subgraphs(node)):
        return WITHIN
    if node.op_type == "Mul" and node.input[0] == node.input[1]:  # a square
        return STATISTICS
    if node.op_type == "Div" and node.input[1] not in constants:
        return STATISTICS
    return ISLANDS.get(node.op_type, "")
