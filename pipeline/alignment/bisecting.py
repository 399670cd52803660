"""Where an engine that fuses diverges from PyTorch: engines of ever shorter beginnings of the graph are compared.

A fusing engine has no inner tensors, and one that is made to give them fuses otherwise. So the graph is cut behind a
tensor, an engine is built of what lies before it, and its outputs are compared; the first tensor at which such an
engine differs is found by halving. The piece between it and the tensors before it is then built alone and given
PyTorch's tensors: if that differs, too, the piece is the culprit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import onnx
from numpy.typing import NDArray

from pipeline.alignment.comparing import Comparison, Matched
from pipeline.alignment.eager_run import run_eager
from pipeline.alignment.graph_flow import GraphFlow
from pipeline.alignment.judging import judge
from pipeline.alignment.matching import matches
from pipeline.alignment.records import DIFFERS, EQUAL, SET, Pair
from pipeline.graphs.graph_runs import Opener, opened, piece, run_with
from zoo.errors import ExportError
from zoo.progress import Progress

Array = NDArray[Any]


@dataclass(frozen=True)
class _Point:
    """A tensor of the graph, and PyTorch's."""

    pair: Pair
    match: Matched


def bisect(comparison: Comparison, opener: Opener, progress: Progress) -> list[Pair]:
    """The pairs that engines were built for, in graph order; nothing differs, or one of them does.

    `comparison`: already compared on a backend that gives its inner tensors; its pairs that are equal there are the
    points to cut at.
    """
    flow, model = comparison.flow, comparison.model
    points = _points(comparison)
    names = [point.pair.tensor for point in points]
    behind = {name: flow.behind(name, names)[0] for name in names}
    tried: dict[str, Pair] = {}
    different: dict[int, list[Pair]] = {}  # by the number of points

    def differs(count: int) -> bool:
        """Whether an engine of what the first `count` points need differs in one of its ends."""
        inner = {name for point in points[:count] for name in behind[point.pair.tensor]}
        ends = [point for point in points[:count] if point.pair.tensor not in inner]
        run = run_eager(comparison.module, comparison.given, {end.match.number for end in ends})
        outputs = _run(piece(model, None, [end.pair.tensor for end in ends]), opener, comparison)
        judged = [_judged(comparison, end, run.kept[end.match.number], outputs[end.pair.tensor]) for end in ends]
        tried.update((pair.tensor, pair) for pair in judged)
        different[count] = [pair for pair in judged if pair.verdict == DIFFERS]
        return bool(different[count])

    low, high = 0, len(points)  # equal up to low, different at high
    steps = max(1, high.bit_length() + 1)
    progress("build engines of pieces", 0, steps)
    if not points or not differs(high):
        progress("build engines of pieces", steps, steps)
        return _sorted(flow, tried.values())
    done = 1
    while high - low > 1:
        middle = (low + high) // 2
        if differs(middle):
            high = middle
        else:
            low = middle
        done += 1
        progress("build engines of pieces", min(done, steps), steps)
    kept = {tensor: pair for tensor, pair in tried.items() if pair.verdict in (EQUAL, SET)}
    # The point that was added last, or one beside it that differs only in an engine that gives both.
    last = points[high - 1].pair.tensor
    found = next((pair for pair in different[high] if pair.tensor == last), different[high][-1])
    kept[found.tensor] = _alone(comparison, flow, found, points, opener)
    return _sorted(flow, kept.values())


def _sorted(flow: GraphFlow, pairs: Any) -> list[Pair]:
    return sorted(pairs, key=lambda pair: flow.order(pair.tensor))


def _points(comparison: Comparison) -> list[_Point]:
    """The pairs of one tensor each; not behind a choice by data, which another engine may make otherwise."""
    return [
        _Point(pair, comparison.matched[pair.tensor])
        for pair in comparison.pairs
        if pair.tensor in comparison.matched and pair.figures is not None and pair.tensor not in comparison.flow.chosen
    ]


def _run(part: onnx.ModelProto, opener: Opener, comparison: Comparison) -> dict[str, Array]:
    with opened(part, opener) as runner:
        return run_with(runner, {**comparison.given, **comparison.extra})


def _judged(comparison: Comparison, point: _Point, expected: Array, actual: Array) -> Pair:
    (match,) = matches([expected], [actual], comparison.threshold)
    judged = judge(match, actual, comparison.threshold, chosen=False)
    return replace(point.pair, verdict=judged.verdict, figures=judged.figures, note=judged.note)


def _alone(comparison: Comparison, flow: GraphFlow, pair: Pair, points: Sequence[_Point], opener: Opener) -> Pair:
    """The pair, whose piece was built alone and given PyTorch's tensors, where a reshape makes them the graph's."""
    known = {point.pair.tensor: point for point in points}
    if not all(name in known and known[name].match.in_place for name in pair.behind):
        return pair
    numbers = {known[name].match.number for name in (*pair.behind, pair.tensor)}
    run = run_eager(comparison.module, comparison.given, numbers)
    fed: Mapping[str, Array] = {
        name: run.kept[known[name].match.number].reshape(known[name].match.shape) for name in pair.behind
    }
    sources = flow.sources([pair.tensor], set(pair.behind))
    try:
        with opened(piece(comparison.model, sources, [pair.tensor]), opener) as runner:
            actual = run_with(runner, {**comparison.given, **comparison.extra, **fed})[pair.tensor]
    except ExportError as error:
        return replace(pair, note=f"its piece does not run alone: {error}")
    point = known[pair.tensor]
    if _judged(comparison, point, run.kept[point.match.number], actual).verdict == DIFFERS:
        return replace(pair, note="its piece also differs alone")
    return replace(pair, note="its piece does not differ alone; its fusion with what is before it does")
