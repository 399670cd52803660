"""fp16 as a typed graph: the networks in fp16, the rest and what does not fit in fp32."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import onnx
from numpy.typing import NDArray
from onnx import TensorProto

from rewriters.graph_passes.fold_constants import fold_constants
from rewriters.onnx_graph.module_paths import module_path
from rewriters.onnx_graph.value_types import value_types
from rewriters.precision.caster import cast_to_fp16, label
from rewriters.precision.half_io import half_io
from rewriters.precision.islands import OUTSIDE, WITHIN, islands
from rewriters.precision.modules import nodes_of_modules
from rewriters.precision.nothing_to_cast import NothingToCastError
from rewriters.precision.overflow import unfit
from rewriters.precision.report import PrecisionReport, computing_nodes
from zoo.precision_options import PrecisionOptions

PRECISION = "fp16"
SUMMED = (OUTSIDE, WITHIN)
"""Reasons that hold for hundreds of nodes of a detector: reported by module."""


def to_fp16(
    model: onnx.ModelProto, options: PrecisionOptions, feeds: Sequence[Mapping[str, NDArray[Any]]]
) -> tuple[onnx.ModelProto, PrecisionReport]:
    """A graph whose networks compute in fp16, with the same inputs and outputs, and what was done. `model` stays.

    `feeds`: the graph's inputs by name, of calibration images; values that leave fp16's range on them stay in fp32.
    Raises ExportError where `options.keep_fp32` names no module of the graph, where ONNX Runtime does not run it,
    and where nothing would compute in fp16.
    """
    folded = _copy(model)
    fold_constants(folded)
    kept = nodes_of_modules(folded, options.keep_fp32)
    stays = {**islands(folded), **{place: f'kept by keep_fp32 "{pattern}"' for place, pattern in kept.items()}}
    overflows = _overflows(folded, stays, feeds)
    halved = _copy(folded)
    casting = cast_to_fp16(halved, {**stays, **overflows})
    nodes = computing_nodes(halved)
    if not nodes.get("float16"):
        layers = ", ".join(f"{number} in {dtype}" for dtype, number in nodes.items()) or "none"
        raise NothingToCastError(
            f"fp16: nothing would compute in fp16 (layers of the graph: {layers}); they are in branches or loops, are "
            "kept by keep_fp32, or leave the range of fp16: deploy with precision fp32"
        )
    notes = [] if feeds else ["no calibration inputs were given: overflows were not looked for"]
    if options.half_io and (ends := half_io(halved)):
        notes.append(f"float16 inputs and outputs: {', '.join(ends)}")
    reasons = {**stays, **casting.refused, **overflows}
    return halved, PrecisionReport(PRECISION, nodes, _labelled(folded, reasons), tuple(notes))


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def _overflows(
    folded: onnx.ModelProto, stays: Mapping[int, str], feeds: Sequence[Mapping[str, NDArray[Any]]]
) -> dict[int, str]:
    """The places of nodes that would read or give in fp16 what it cannot hold -> why."""
    halves = cast_to_fp16(_copy(folded), stays).halves
    problems = unfit(folded, (name for names in halves.values() for name in names), feeds)
    return {place: f"{name} {problems[name]}" for place, names in halves.items() for name in names if name in problems}


def _labelled(folded: onnx.ModelProto, reasons: Mapping[int, str]) -> tuple[tuple[str, str], ...]:
    """Node and reason; those of one module with a reason of hundreds of nodes as one entry, float32 results alone."""
    floats = {name for name, kind in value_types(folded).items() if kind.tensor_type.elem_type == TensorProto.FLOAT}
    single, summed = list[tuple[str, str]](), Counter[tuple[str, str]]()
    for place, node in enumerate(folded.graph.node):
        if place in reasons and reasons[place] not in SUMMED:
            single.append((label(node), reasons[place]))
        elif place in reasons and not floats.isdisjoint(node.output):
            summed[module_path(node) or "", reasons[place]] += 1
    return (
        *single,
        *((module or "the model itself", f"{count} nodes: {why}") for (module, why), count in summed.items()),
    )
