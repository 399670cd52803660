"""Which nodes of a graph compute in int8: the networks' layers, and what lies between two of them."""

from collections import Counter, defaultdict
from collections.abc import Collection, Mapping

import onnx

from rewriters.onnx_graph.opset import STANDARD
from rewriters.onnx_graph.scopes import captured
from rewriters.precision.fixed_products import fixed_products
from rewriters.precision.layers import LAYERS

QUANTIZABLE = ("Conv", "ConvTranspose", "Gemm", "MatMul")
"""Products with weights, where those are constant."""
BETWEEN = ("Add", "AveragePool", "Concat", "GlobalAveragePool", "MaxPool", "Relu", "Resize")
"""What ONNX Runtime computes on int8 without a detour through floats, where all that it reads is int8.

Never what follows the last layer: a detector's decoding, its NMS and its RoIAlign, a softmax.
"""
GATE = ("Mul", "Sigmoid")
"""x * sigmoid(y), and SiLU, where x is y: what ONNX Runtime computes on uint8 as well."""
COMPUTED = "its weights are computed"
NOT_NEGATIVE = ("Relu", "Sigmoid")
KEEPS_SIGN = ("Add", "AveragePool", "Concat", "GlobalAveragePool", "MaxPool", "Relu")
"""What gives no negative number where it reads none. Of Resize two of the three methods do."""


def layers_of(model: onnx.ModelProto, kept: Mapping[int, str]) -> list[int]:
    """The places of the layers that int8 is for: of the main graph, with constant weights, not `kept`."""
    left = left_in_fp32(model, kept)
    return [place for place, node in enumerate(model.graph.node) if place not in left and _is_layer(node)]


def left_in_fp32(model: onnx.ModelProto, kept: Mapping[int, str]) -> dict[int, str]:
    """The places of the main graph's layers that int8 is not for -> why. `kept`: place -> the user's pattern."""
    weights = {tensor.name for tensor in model.graph.initializer if tensor.data_type == onnx.TensorProto.FLOAT}
    fixed = fixed_products(model)
    reasons = {}
    for place, node in enumerate(model.graph.node):
        if not _is_layer(node):
            continue
        if place in kept:
            reasons[place] = f'kept by keep_fp32 "{kept[place]}"'
        elif place in fixed:
            reasons[place] = fixed[place]
        elif node.op_type not in QUANTIZABLE:
            reasons[place] = f"int8 is for {', '.join(QUANTIZABLE)}"
        elif node.input[1] not in weights:
            first = node.input[0] in weights
            reasons[place] = "its weights are the first factor, int8 is for the second" if first else COMPUTED
    return reasons


def _is_layer(node: onnx.NodeProto) -> bool:
    return node.op_type in LAYERS and node.domain in STANDARD


def between_layers(
    model: onnx.ModelProto, layers: Collection[int], kept: Collection[int], *, unsigned: bool
) -> list[int]:
    """The places of the nodes that read what layers give, through such nodes alone, and that another layer reads.

    `unsigned`: see to_int8. A Relu that no layer reads is one of them then. Otherwise gates are left out, and so are
    nodes whose result has negative numbers and several readers: ONNX Runtime would leave all of them in fp32, as it
    does where a feature pyramid adds.
    """
    nodes = model.graph.node
    positive, times = without_negatives(model), Counter(name for node in nodes for name in node.input)
    gates = _gates(model) if unsigned else set()
    constants = {tensor.name for tensor in model.graph.initializer}
    inside = {name for node in nodes for name in captured(node)}  # ONNX Runtime's quantiser renames what it fuses
    computed: set[str] = set()
    behind: set[int] = set()
    for place, node in enumerate(nodes):
        if place in layers:
            computed.update(node.output)
        elif (node.op_type in BETWEEN or place in gates) and node.domain in STANDARD and place not in kept:
            data = [name for name in _data(node) if name not in constants]
            fusable = unsigned or node.output[0] in positive or times[node.output[0]] == 1
            if fusable and len(data) == len(_data(node)) and computed.issuperset(data):
                behind.add(place)
                computed.update(node.output)
    read: set[str] = set()
    places: list[int] = []

    def is_end(node: onnx.NodeProto) -> bool:
        """Without a pair behind its Relu, a layer is computed in fp32."""
        return unsigned and node.op_type == "Relu" and inside.isdisjoint((*node.input, *node.output))

    for place in reversed(range(len(nodes))):
        if place in layers:
            read.add(nodes[place].input[0])
        elif place in behind and (not read.isdisjoint(nodes[place].output) or is_end(nodes[place])):
            places.append(place)
            read.update(_data(nodes[place]))
    return sorted(places)


def activations(model: onnx.ModelProto, places: Collection[int], types: Mapping[str, onnx.TypeProto]) -> list[str]:
    """The float32 tensors that these nodes read and give, without constants, in the order of the graph."""
    constants = {tensor.name for tensor in model.graph.initializer}
    nodes = model.graph.node
    names = [name for place in sorted(places) for name in (*_data(nodes[place]), *nodes[place].output[:1])]
    return [
        name
        for name in dict.fromkeys(names)
        if name not in constants and name in types and types[name].tensor_type.elem_type == onnx.TensorProto.FLOAT
    ]


def without_negatives(model: onnx.ModelProto) -> set[str]:
    """The tensors that hold no negative number, whatever the input is."""
    values: set[str] = set()
    for node in model.graph.node:
        keeps = node.op_type in KEEPS_SIGN or (node.op_type == "Resize" and _mode(node) in ("linear", "nearest"))
        if node.op_type in NOT_NEGATIVE or (keeps and values.issuperset(_data(node))):
            values.update(node.output)
    return values


def _gates(model: onnx.ModelProto) -> set[int]:
    """The places of each Sigmoid that is nothing but a factor, and of its products.

    No other: what reads boxes that a Sigmoid gives needs more than 255 steps.
    """
    readers: dict[str, list[int]] = defaultdict(list)
    for place, node in enumerate(model.graph.node):
        for name in node.input:
            readers[name].append(place)
    gates: set[int] = set()
    for place, node in enumerate(model.graph.node):
        products = readers[node.output[0]] if node.op_type == "Sigmoid" else []
        if products and all(model.graph.node[product].op_type == "Mul" for product in products):
            gates.update((place, *products))
    return gates


def _data(node: onnx.NodeProto) -> list[str]:
    """The inputs that are computed with; those behind the first of Resize are sizes, of a layer weights."""
    return list(node.input) if node.op_type in ("Add", "Concat", "Mul") else list(node.input[:1])


def _mode(node: onnx.NodeProto) -> str:
    return next((attribute.s.decode() for attribute in node.attribute if attribute.name == "mode"), "nearest")
