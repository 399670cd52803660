"""What a precision costs in each module: everything but it in that precision, and only it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray

from rewriters.graph_passes.fold_constants import fold_constants
from rewriters.onnx_graph.cut import cut
from rewriters.onnx_graph.graph_outputs import run_all
from rewriters.onnx_graph.module_paths import MODULE, module_path
from rewriters.onnx_graph.readers import readers_of
from rewriters.onnx_graph.reads import reads
from rewriters.precision.layers import LAYERS
from rewriters.precision.nothing_to_cast import NothingToCastError
from rewriters.precision.rounded import rounded
from zoo.errors import ExportError
from zoo.precision_options import PrecisionOptions
from zoo.progress import Progress

Feeds = Sequence[Mapping[str, NDArray[Any]]]
Make = Callable[[onnx.ModelProto, PrecisionOptions, Feeds], tuple[onnx.ModelProto, Any]]
DEPTH = 2
CHOOSES = ("ArgMax", "GatherND", "NonMaxSuppression", "NonZero", "RoiAlign", "TopK")
"""What picks by the numbers: layers in front of it end there, whatever is computed behind it."""
HELD = ("ArgMax", "NonMaxSuppression", "NonZero", "TopK")
"""What gives an order or a selection: one more or less, and two runs have different things in the same place."""
LIBRARY_PAIR = ("QuantizeLinear", "DequantizeLinear")
ITSELF = "(itself)"
"""The last name of what a module computes besides its parts: a row of its own, beside theirs."""
WORST = -300.0  # dB: of results that are not finite


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
    cut off after `depth` names; what one computes besides its parts is a row of its own, "head.(itself)". The ratio is
    that of the tensors which the last layers give, before anything is chosen by their numbers: see decibels. What is
    chosen in between, such as the proposals of a detector of two stages, is what fp32 chooses. Each row calibrates
    anew. Results in fp16 are rounded to fp16, whatever ONNX Runtime's CPU kernels compute in.
    Raises ExportError where the nodes name no modules, where nothing would compute in the precision, and as `make`.
    """
    model = _copy(model)
    fold_constants(model)  # as `make` does: what is folded is no layer
    _own_names(model, depth)
    groups = modules(model, depth)
    if not groups:
        raise ExportError("no layer has a module path (zooport.module), which our exports write; export with zooport")
    ends = last_tensors(model)
    held = _needed(model, ends, HELD)[1]
    runs = _runs(model, [*ends, *held], feeds)
    expected = _joined([run[: len(ends)] for run in runs])
    fed = [{**feed, **dict(zip(held, run[len(ends) :], strict=True))} for feed, run in zip(feeds, runs, strict=True)]
    total = 1 + 2 * len(groups)

    def ratio(*kept: str) -> float:
        stays = replace(options, keep_fp32=(*options.keep_fp32, *kept), half_io=False)
        try:
            converted, _ = make(model, stays, feeds)
        except NothingToCastError:
            if not kept:
                raise
            return math.inf  # there is no noise
        return decibels(expected, _joined(_runs(converted, ends, fed, held)))

    def count(done: int) -> None:
        if progress is not None:
            progress("measure", done, total)

    count(0)
    whole = ratio()
    count(1)
    rows = []
    for number, (module, layers) in enumerate(groups.items()):
        others = [name for name in groups if name != module]
        rows.append(Harm(module, layers, ratio(*others), ratio(module)))
        count(3 + 2 * number)
    return whole, sorted(rows, key=lambda row: row.only)


def modules(model: onnx.ModelProto, depth: int) -> dict[str, int]:
    """The modules that have layers, cut off after `depth` names -> how many layers, in the order of the graph."""
    layers: dict[str, int] = {}
    for node in model.graph.node:
        path = module_path(node)
        if node.op_type in LAYERS and path:
            module = ".".join(path.split(".")[:depth])
            layers[module] = layers.get(module, 0) + 1
    return layers


def _own_names(model: onnx.ModelProto, depth: int) -> None:
    """Rename, in place, the path of a module that computes beside parts of its own: to keep it would keep them, too."""
    paths = {module_path(node) or "" for node in model.graph.node}
    parents = {".".join(path.split(".")[:count]) for path in paths for count in range(min(depth, path.count(".") + 1))}
    for node in model.graph.node:
        for entry in node.metadata_props:
            if entry.key == MODULE and entry.value in parents:
                entry.value = f"{entry.value}.{ITSELF}".lstrip(".")


def _copy(model: onnx.ModelProto) -> onnx.ModelProto:
    copy = onnx.ModelProto()
    copy.CopyFrom(model)
    return copy


def last_tensors(model: onnx.ModelProto) -> list[str]:
    """What layers give that no other layer reads before something is chosen by the numbers.

    Of a layer whose one reader is a Relu it is what the Relu gives: int8 makes one layer of both.
    """
    read: set[str] = set()
    tensors = []
    relus = _only_relus(model)
    for node in reversed(model.graph.node):
        if node.op_type in CHOOSES:
            continue
        if node.op_type in LAYERS:
            if read.isdisjoint(node.output):
                tensors.append(relus.get(node.output[0], node.output[0]))
            read.add(node.input[0])
        elif not read.isdisjoint(node.output):
            read.update(node.input)
    return list(reversed(tensors))


def _only_relus(model: onnx.ModelProto) -> dict[str, str]:
    """Tensors that one Relu reads, and nothing else -> what it gives."""
    ends = {value.name for value in model.graph.output}
    return {
        name: nodes[0].output[0]
        for name, nodes in readers_of(model).items()
        if len(nodes) == 1 and nodes[0].op_type == "Relu" and name not in ends
    }


def decibels(expected: Sequence[NDArray[Any]], actual: Sequence[NDArray[Any]]) -> float:
    """-10 log10 of the mean over tensors of noise power over signal power; infinite where there is no noise.

    The mean is that of powers: one tensor without noise, a head that stays in fp32, does not hide the others'.
    """
    powers = []
    for want, got in zip(expected, actual, strict=True):
        noise = float(np.mean((want - got) ** 2))
        powers.append(noise / max(float(np.mean(want**2)), 1e-30))
    noise = float(np.mean(powers))
    if noise == 0:
        return math.inf
    return max(WORST, -10 * math.log10(noise)) if math.isfinite(noise) else WORST


def _runs(model: onnx.ModelProto, ends: Sequence[str], feeds: Feeds, held: Sequence[str] = ()) -> list[list[Any]]:
    """Those tensors of one feed after the other, as their readers get them, behind a pair where there is one.

    `held`: tensors that are fed, and not computed.
    """
    part = rounded(model)
    names = [_read_as(part, name) for name in ends]
    needed, _ = _needed(part, names, (), held)
    inputs = [name for name in (*(value.name for value in part.graph.input), *held) if name in needed]
    cut(part, inputs, names)
    chosen = ({name: feed[name] for name in inputs} for feed in feeds)
    return list(run_all(part.SerializeToString(), chosen, names))


def _needed(
    model: onnx.ModelProto, ends: Sequence[str], kinds: Sequence[str], stops: Sequence[str] = ()
) -> tuple[set[str], list[str]]:
    """All tensors that `ends` are computed of, back to what operators of these kinds give, or to `stops`; and what
    those operators give of them.
    """
    needed, tensors = set(ends), list[str]()
    for node in reversed(model.graph.node):
        outputs = [name for name in node.output if name in needed]
        if node.op_type in kinds:
            tensors += outputs
        elif not set(stops).issuperset(outputs):
            needed.update(reads(node))
    return needed, tensors


def _joined(runs: Sequence[Sequence[NDArray[Any]]]) -> list[NDArray[np.float64]]:
    """Each tensor of all runs, flat."""
    return [
        np.concatenate([np.ravel(array) for array in arrays]).astype(np.float64) for arrays in zip(*runs, strict=True)
    ]


def _read_as(model: onnx.ModelProto, name: str) -> str:
    for kind in LIBRARY_PAIR:
        reader = next((node for node in model.graph.node if node.op_type == kind and node.input[0] == name), None)
        if reader is None:
            break
        name = reader.output[0]
    return name
