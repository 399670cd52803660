"""What a precision costs in each module: everything but it in that precision, and only it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from rewriters.checks.onnxruntime_runs import run_once
from rewriters.graph.module_paths import module_path
from rewriters.graph_rewriters.cut import cut
from rewriters.precision.layers import LAYERS
from zoo.errors import ExportError
from zoo.precision_options import PrecisionOptions

Feeds = Sequence[Mapping[str, NDArray[Any]]]
Make = Callable[[onnx.ModelProto, PrecisionOptions, Feeds], tuple[onnx.ModelProto, Any]]
Progress = Callable[[str, int, int], None]
DEPTH = 2
CHOOSES = ("ArgMax", "GatherND", "NonMaxSuppression", "NonZero", "RoiAlign", "TopK")
"""What picks by the numbers: behind it two runs have different things, and no noise can be measured."""
LIBRARY_PAIR = ("QuantizeLinear", "DequantizeLinear")


@dataclass(frozen=True)
class Harm:
    """`layers` of a `module`; the signal to noise ratio, dB, where it alone is in the precision, and all but it."""

    module: str
    layers: int
    only: float
    without: float


def sensitivity(
    model: onnx.ModelProto,
    make: Make,
    options: PrecisionOptions,
    feeds: Feeds,
    *,
    depth: int = DEPTH,
    progress: Progress | None = None,
) -> tuple[float, list[Harm]]:
    """The ratio with all modules in the precision, and a row for each, the most harmful first.

    `make`: to_int8 or to_fp16; `options`: those of the precision, whose `keep_fp32` holds for all rows. Modules are
    cut off after `depth` names. The ratio is that of the tensors which the last layers give, before anything is chosen
    by their numbers: the mean, over tensors, of signal power over noise power. Each row calibrates anew.
    Raises ExportError where the nodes name no modules.
    """
    groups = modules(model, depth)
    if not groups:
        raise ExportError("no layer has a module path (zooport.module), which our exports write; export with zooport")
    ends = last_tensors(model)
    expected = _values(model, ends, feeds)
    total = 1 + 2 * len(groups)

    def ratio(number: int, *kept: str) -> float:
        if progress is not None:
            progress("graphs", number, total)
        stays = PrecisionOptions(
            keep_fp32=(*options.keep_fp32, *kept),
            calibration_images=options.calibration_images,
            calibration_method=options.calibration_method,
        )
        try:
            made, _ = make(model, stays, feeds)
        except ExportError:  # nothing is left to compute in the precision: there is no noise
            return math.inf
        return decibels(expected, _values(made, ends, feeds))

    whole = ratio(1)
    rows = []
    for number, (module, layers) in enumerate(groups.items()):
        others = [name for name in groups if name != module]
        rows.append(Harm(module, layers, ratio(2 + 2 * number, *others), ratio(3 + 2 * number, module)))
    return whole, sorted(rows, key=lambda row: row.only)


def modules(model: onnx.ModelProto, depth: int) -> dict[str, int]:
    """The modules that have layers, cut off after `depth` names -> how many layers, in the order of the graph."""
    found: dict[str, int] = {}
    for node in model.graph.node:
        path = module_path(node)
        if node.op_type in LAYERS and path:
            module = ".".join(path.split(".")[:depth])
            found[module] = found.get(module, 0) + 1
    return found


def last_tensors(model: onnx.ModelProto) -> list[str]:
    """What layers give that no other layer reads before something is chosen by the numbers."""
    read: set[str] = set()
    found = []
    for node in reversed(model.graph.node):
        if node.op_type in CHOOSES:
            continue
        if node.op_type in LAYERS:
            if read.isdisjoint(node.output):
                found.append(node.output[0])
            read.add(node.input[0])
        elif not read.isdisjoint(node.output):
            read.update(node.input)
    return list(reversed(found))


def decibels(expected: Sequence[NDArray[Any]], found: Sequence[NDArray[Any]]) -> float:
    """10 log10 of the mean over tensors of signal power over noise power; infinite where there is no noise."""
    ratios = []
    for want, got in zip(expected, found, strict=True):
        signal, noise = float(np.mean(want**2)), float(np.mean((want - got) ** 2))
        ratios.append(math.inf if noise == 0 else 10 * math.log10(max(signal, 1e-30) / noise))
    return float(np.mean(ratios))


def _values(model: onnx.ModelProto, ends: Sequence[str], feeds: Feeds) -> list[NDArray[Any]]:
    """Those tensors on all feeds, float64, flat; as their readers get them, behind a pair where there is one."""
    part = onnx.ModelProto()
    part.CopyFrom(model)
    names = [_read_as(part, name) for name in ends]
    cut(part, None, names)
    needed = {value.name for value in part.graph.input}
    content = part.SerializeToString()
    runs = [run_once(content, {k: v for k, v in feed.items() if k in needed}, names) for feed in feeds]
    return [np.concatenate([np.ravel(run[i]) for run in runs]).astype(np.float64) for i in range(len(names))]


def _read_as(model: onnx.ModelProto, name: str) -> str:
    for kind in LIBRARY_PAIR:
        reader = next((node for node in model.graph.node if node.op_type == kind and node.input[0] == name), None)
        if reader is None:
            break
        name = reader.output[0]
    return name
