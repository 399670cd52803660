"""int8 as explicit Q/DQ nodes, placed by ONNX Runtime's quantiser: weights symmetric, with a scale for each channel."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnxruntime.quantization import QDQQuantizer, QuantType, TensorsData

from rewriters.graph_passes.drop_unused import drop_unused
from rewriters.graph_passes.fold_constants import fold_constants
from rewriters.onnx_graph.keep_metadata import keep_metadata
from rewriters.onnx_graph.module_paths import module_path
from rewriters.onnx_graph.opset import opset_of
from rewriters.onnx_graph.value_types import value_types
from rewriters.precision.library_messages import library_messages
from rewriters.precision.modules import nodes_of_modules
from rewriters.precision.nothing_to_cast import NothingToCastError
from rewriters.precision.pair_sums import SEVEN, check_pair_sums
from rewriters.precision.qdq_forms import ABSORBED, DEQUANTIZE, QUANTIZE, free_activations, own_pairs, unrounded
from rewriters.precision.quantized_part import (
    BETWEEN,
    GATE,
    QUANTIZABLE,
    activations,
    between_layers,
    layers_of,
    left_in_fp32,
    without_negatives,
)
from rewriters.precision.report import PrecisionReport, computing_nodes
from rewriters.precision.sort_nodes import sort_nodes
from rewriters.precision.value_ranges import value_ranges
from rewriters.precision.weights import own_weights
from zoo.errors import ExportError
from zoo.precision_options import PrecisionOptions

PRECISION = "int8"
LEAST_OPSET = 13  # the first whose QuantizeLinear has an axis
STEPS = 127  # of a symmetric int8, on each side of zero
LIBRARY_OPTIONS: Mapping[str, Any] = {
    "WeightSymmetric": True,
    "QuantizeBias": False,  # TensorRT takes float biases alone; ONNX Runtime makes int32 of them when it loads the file
}
Overrides = dict[str, list[dict[str, Any]]]  # how the quantiser stores a tensor


def to_int8(
    model: onnx.ModelProto,
    options: PrecisionOptions,
    feeds: Sequence[Mapping[str, NDArray[Any]]],
    *,
    bits: int = SEVEN,
    unsigned: bool = True,
) -> tuple[onnx.ModelProto, PrecisionReport]:
    """A graph whose networks compute in int8, with the same inputs and outputs, and what was done. `model` stays.

    `feeds`: the graph's inputs by name, of calibration images. `bits` of the weights, 7 or 8, see zoo.dialect: with
    7 every CPU computes the same.

    `unsigned`: activations are uint8 with a zero point, the range of their numbers on 255 steps, and every layer gives
    such numbers. ONNX Runtime's kernels compute on these alone, from layer to layer.
    Otherwise every zero point is 0, and what is not quantised reads floats that are not rounded. A tensor that is never
    negative is stored as uint8 with the scale of int8 there, because ONNX Runtime fuses Relu with that alone: TensorRT
    reads it as int8, and up to the calibrated largest value, 127 steps, both are the same; above it TensorRT saturates
    at once, ONNX Runtime at twice the value.

    Raises ExportError where `options.keep_fp32` names no module of the graph, where ONNX Runtime does not run it, where
    the quantiser leaves out a layer, and where nothing would compute in int8.
    """
    if not feeds:
        raise ExportError("int8: got no calibration inputs, and ranges are taken from them; give one or more")
    if opset_of(model) < LEAST_OPSET:
        raise ExportError(f"int8: the graph has opset {opset_of(model)}, expected {LEAST_OPSET} or later: export again")
    source = _copy(model)
    fold_constants(source)
    _name_nodes(source)
    kept = nodes_of_modules(source, options.keep_fp32)
    layers = layers_of(source, kept)
    if not layers:
        raise NothingToCastError(
            "int8: nothing would compute in int8: no layer with constant weights in the main graph, or keep_fp32 keeps "
            "all of them; deploy with precision fp32"
        )
    whole = own_weights(source, layers)
    chosen = sorted({*layers, *between_layers(source, layers, kept, unsigned=unsigned)})
    names = activations(source, chosen, value_types(source))
    with library_messages() as messages:
        ranges = value_ranges(source, names, feeds, options.calibration_method)
        chosen_names = [source.graph.node[place].name for place in chosen]
        overrides = _one_scale(whole) if unsigned else {**_same_as_int8(source, ranges), **_one_scale(whole)}
        quantized = _quantized(source, chosen_names, ranges, overrides, bits=bits, unsigned=unsigned)
    free_activations(quantized)
    unrounded(quantized, set(chosen_names), also_of_layers=not unsigned)
    if not unsigned:
        own_pairs(quantized)
    drop_unused(quantized)
    _restore(quantized, source)
    _check_layers(quantized, [source.graph.node[place].name for place in layers])
    if bits == SEVEN:
        check_pair_sums(quantized)
    left = left_in_fp32(source, kept)
    report = PrecisionReport(
        PRECISION,
        computing_nodes(quantized),
        tuple((_label(source.graph.node[place]), reason) for place, reason in left.items()),
        tuple(dict.fromkeys(messages)),
    )
    return quantized, report


def _quantized(
    source: onnx.ModelProto,
    names: Sequence[str],
    ranges: TensorsData,
    overrides: Overrides,
    *,
    bits: int,
    unsigned: bool,
) -> onnx.ModelProto:
    """`bits`: of all weights."""
    quantizer = QDQQuantizer(
        _copy(source),
        per_channel=True,
        reduce_range=bits == SEVEN,  # of weights alone
        weight_qType=QuantType.QInt8,
        activation_qType=QuantType.QUInt8 if unsigned else QuantType.QInt8,
        tensors_range=ranges,
        nodes_to_quantize=list(names),
        nodes_to_exclude=[],
        op_types_to_quantize=[*QUANTIZABLE, *BETWEEN, *GATE],
        extra_options={**LIBRARY_OPTIONS, "ActivationSymmetric": not unsigned, "TensorQuantOverrides": overrides},
    )
    quantized: onnx.ModelProto = quantizer.quantize_model()
    sort_nodes(quantized)
    return quantized


def _one_scale(weights: Sequence[str]) -> Overrides:
    return {name: [{"quant_type": QuantType.QInt8}] for name in weights}


def _same_as_int8(source: onnx.ModelProto, ranges: TensorsData) -> Overrides:
    """Tensors that are never negative, as uint8 whose numbers are those of int8."""
    unsigned = without_negatives(source)
    return {
        name: [{"quant_type": QuantType.QUInt8, "scale": _scale(ranges[name]), "zero_point": np.array(0, np.uint8)}]
        for name in ranges.keys()  # noqa: SIM118 - no mapping
        if name in unsigned
    }


def _scale(extremes: Any) -> NDArray[np.float32]:
    """Of a tensor without negative numbers; 1 where it is zero on all images."""
    largest = float(np.max(extremes.range_value[1]))
    return np.array(largest / STEPS if largest > 0 else 1, np.float32)


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def _name_nodes(model: onnx.ModelProto) -> None:
    """The library chooses nodes by their names: each gets one of its own, where it has none."""
    taken: set[str] = set()
    for place, node in enumerate(model.graph.node):
        if not node.name or node.name in taken:
            node.name = f"{node.op_type}_{place}"
        taken.add(node.name)


def _restore(quantized: onnx.ModelProto, source: onnx.ModelProto) -> None:
    """What the library adds and forgets: shapes that it inferred, metadata, and the modules of the nodes.

    A Relu that became the lower end of a pair is there in this pair: the layer before it now gives its tensor.
    """
    declared = {value.name for value in source.graph.value_info}
    values = [value for value in quantized.graph.value_info if value.name in declared]
    del quantized.graph.value_info[:]
    quantized.graph.value_info.extend(values)
    keep_metadata(quantized, source)
    own = {node.name: node for node in source.graph.node}
    there = {node.name for node in quantized.graph.node}
    absorbed = {
        node.output[0]: node for node in source.graph.node if node.op_type in ABSORBED and node.name not in there
    }
    for node in quantized.graph.node:
        if node.name in own:
            del node.metadata_props[:]
            node.metadata_props.extend(own[node.name].metadata_props)
        elif node.op_type == QUANTIZE and node.input[0] in absorbed:
            absorbed[node.output[0]] = absorbed[node.input[0]]
        elif node.op_type == DEQUANTIZE and node.input[0] in absorbed:
            node.metadata_props.extend(absorbed[node.input[0]].metadata_props)


def _check_layers(model: onnx.ModelProto, names: Sequence[str]) -> None:
    """Raises ExportError for a layer that the quantiser has silently left in fp32."""
    quantized = {name for node in model.graph.node if node.op_type == DEQUANTIZE for name in node.output}
    nodes = {node.name: node for node in model.graph.node}
    left = [name for name in names if name not in nodes or not quantized.issuperset(nodes[name].input[:2])]
    if left:
        first = _label(nodes[left[0]]) if left[0] in nodes else left[0]
        raise ExportError(
            f"int8: ONNX Runtime's quantiser left {len(left)} of {len(names)} layers in fp32, the first is {first}; "
            "name its module in keep_fp32 if it should stay so"
        )


def _label(node: onnx.NodeProto) -> str:
    path = module_path(node)
    return f"{node.op_type} {node.name}" + (f" of {path}" if path else "")
