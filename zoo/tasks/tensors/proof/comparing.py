"""Named arrays of PyTorch and of a backend: floats by their range, integers by their share, rows as a set."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.comparison import Borderline, Figure, Findings, figure, gate_failure, shape_problem, value_range
from zoo.comparison.rows import RowGate, compare_rows

Array = NDArray[Any]
Arrays = Mapping[str, Array]
VALUES, CHANGED = "logits", "changed"  # the gates
OF_RANGE, OF_SIZE, OF_VALUES = "of range", "of its size, or of 1", "of values"
EXPLAINED = "PyTorch moves this output as far when its input is rounded otherwise"
LARGE, FAR = 1e4, 1e3  # of a filler: fp16 ends at 65504; times the range of all other values
FILLER_TOLERANCE = 1e-6  # of itself: a constant, in float32
HALF = 0.5  # of one: integers of two rows are the same, or not


def compare_arrays(
    reference: Arrays,
    candidate: Arrays,
    gates: Mapping[str, float],
    rows: Collection[str] = (),
    explained: Mapping[str, float] | None = None,
) -> Findings:
    """Arrays of one batch, by the same names. `rows`: those [N, P, ...] whose rows are a set together.

    `explained`: how far each may be off beyond its gate, which is then borderline; in the unit of its figure. Blank
    where every array has one value alone.
    """
    explained, total = explained or {}, Findings(blank=True)
    for name in reference:
        if name not in rows:
            total += _compare(name, reference[name], candidate[name], gates, explained.get(name, 0.0))
    if rows:
        total += _compare_rows({name: reference[name] for name in rows}, candidate, gates, explained)
    return total


def errors(reference: Arrays, candidate: Arrays, gates: Mapping[str, float], rows: Collection[str]) -> dict[str, float]:
    """How far each array is off, as the figures of `compare_arrays` have it; without those that are not finite."""
    figures = compare_arrays(reference, candidate, gates, rows).figures
    return {each.name: each.max_error for each in figures if each.max_error is not None}


def _compare(name: str, ours: Array, theirs: Array, gates: Mapping[str, float], explained: float) -> Findings:
    if problem := shape_problem(name, ours, theirs):
        return Findings.broken((problem,))
    gate = gates[VALUES] if ours.dtype.kind == "f" else gates[CHANGED]
    measured = _measured(name, ours, theirs, max(gate, explained))
    blank = ours.size > 1 and bool((ours == ours.flat[0]).all())
    if not measured.passed:
        return Findings((measured,), failures=(gate_failure(measured),))
    return Findings((measured,), matched=ours.size, borderline=_borderline(measured, gate), blank=blank)


def _measured(name: str, ours: Array, theirs: Array, gate: float) -> Figure:
    if ours.dtype.kind != "f":
        share = float(np.mean(ours != theirs)) if ours.size else 0.0
        return Figure(name, OF_VALUES, share, share, None, ours.size, gate)
    plain = _without_fillers(ours)
    same = (plain != ours) & np.isclose(ours, theirs, rtol=FILLER_TOLERANCE, atol=0.0)
    unit, scale = _scale(plain)
    pair = (np.where(same, plain, side) for side in (ours, theirs))
    return figure(name, *pair, unit=unit, gate=gate, scale=scale)


def _without_fillers(ours: Array) -> Array:
    """With 0 for what masks are filled with, -1e9 or the least number there is, beside which any error would be small.

    That is the least or the largest value, where it is there more than once, and far from all others.
    """
    plain = ours
    if not np.isfinite(ours).all():
        return plain
    for extreme in (ours.min(initial=0.0), ours.max(initial=0.0)):
        rest = plain[plain != extreme]
        is_far = rest.size > 0 and abs(float(extreme)) > max(LARGE, FAR * value_range(rest), FAR * float(abs(rest[0])))
        if is_far and np.count_nonzero(ours == extreme) > 1:
            plain = np.where(ours == extreme, np.zeros((), ours.dtype), plain)
    return plain


def _scale(ours: Array) -> tuple[str, float]:
    """The unit of errors, and what they are multiplied with. One value alone, or one for each image, has no range."""
    if not np.isfinite(ours).all():
        return OF_RANGE, 1.0
    if ours.size == 1 or (ours.ndim > 0 and ours.size == len(ours)):
        return OF_SIZE, 1.0 / max(1.0, float(np.abs(ours).max()))
    return OF_RANGE, 1.0 / (value_range(ours) or 1.0)


def _compare_rows(ours: Arrays, theirs: Arrays, gates: Mapping[str, float], explained: Mapping[str, float]) -> Findings:
    own = {}
    for name, array in ours.items():
        whole = array.dtype.kind != "f"
        unit, scale = ("", 1.0) if whole else _scale(array)
        own[name] = RowGate(HALF if whole else gates[VALUES], unit, scale)
    allowed = {name: replace(gate, gate=max(gate.gate, explained.get(name, 0.0))) for name, gate in own.items()}
    findings = compare_rows(ours, theirs, allowed)
    return replace(
        findings,
        borderline=tuple(near for each in findings.figures for near in _borderline(each, own[each.name].gate)),
    )


def _borderline(measured: Figure, gate: float) -> tuple[Borderline, ...]:
    """What is beyond its own gate, and let pass."""
    if not measured.passed or measured.max_error is None or measured.max_error <= gate:
        return ()
    return (Borderline(f"{measured.name} is {measured.max_error:.3g} {measured.unit} away", EXPLAINED),)
