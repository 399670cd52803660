"""The instances of a backend, judged by what PyTorch has: its masks' logits, and its probabilities or scores.

Three decisions turn queries into instances, and near each of them a rounding error decides:
1. a pixel is of a mask if its logit is above 0. It may be on either side where PyTorch's logit is nearly 0;
2. the K best pairs of a query and a class are instances. One of them may be left out for another pair whose probability
   is nearly the same;
3. an instance without pixels is left out. It may be there where all of its pixels are nearly 0.
The score of an instance follows from its mask, so it is compared with the score that PyTorch's probabilities give for
the backend's own mask. A model that makes instances by itself has scores of its own, which are compared as they are.
"""

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from zoo.comparison import Borderline, Figure, Findings, figure
from zoo.comparison.decision_rule import DecisionRule
from zoo.tasks.detection.proof.matching import MAX_LISTED, NO_PARTNER, OUTSIDE, Excuse, listed
from zoo.tasks.instance_masks.proof.instances import EPSILON
from zoo.tasks.instance_masks.proof.model_output import Judge
from zoo.tasks.instance_masks.proof.pairs import Pairs
from zoo.tasks.instance_masks.result import InstanceMasksResult

OPTIONAL = 1e-3  # the cost of a pair that may be absent: of two equal ones, the other is taken


def compare_instances(
    judge: Judge,
    candidate: InstanceMasksResult,
    gates: Mapping[str, float],
    *,
    near: float,
    pixels: float = 0.0,
    rule: DecisionRule = DecisionRule(),  # noqa: B008 - frozen
    excuse: Excuse | None = None,
) -> Findings:
    """The instances of one image, whose masks are those of the graph, against what PyTorch has.

    ``gates``: "scores". ``near``: how far from 0 a mask's logit decides nothing. ``pixels``: the part of a mask's
    pixels that may differ beyond that. ``excuse``: what explains a few differences, which are borderline then.
    Findings.matched counts the instances within all gates.
    """
    if fault := _fault(judge, candidate):
        return Findings.broken((fault,))
    pairs = judge.pairs(rule, gates["scores"], near)
    errors, wrong = _errors(judge, pairs, candidate, near)
    same = candidate.labels[:, None] == pairs.labels[None]
    inside = same & (errors <= gates["scores"]) & (wrong <= pixels)
    apart = 1.0 - 1.0 / (1.0 + errors / gates["scores"] + wrong)  # 0..1
    cost = np.where(inside, apart / 4, OUTSIDE + apart / 2) + np.where(pairs.needed, 0.0, OPTIONAL)
    rows, columns = linear_sum_assignment(np.where(same, cost, NO_PARTNER))
    matched = [(row, column) for row, column in zip(rows, columns, strict=True) if inside[row, column]]
    near_misses = [
        (row, column)
        for row, column in zip(rows, columns, strict=True)
        if same[row, column] and not inside[row, column]
    ]
    failures = _failures(candidate, pairs, (errors, wrong), matched, near_misses)
    borderline = _borderline(judge, pairs, candidate, matched, near)
    if excuse is not None and len(failures) <= excuse.most:
        borderline += tuple(Borderline(failure, excuse.reason) for failure in failures)
        failures, near_misses = [], []
    compared = np.array(matched + near_misses, np.intp).reshape(-1, 2).T
    return Findings(
        figures=_figures(errors[tuple(compared)], wrong[tuple(compared)], gates["scores"], pixels),
        matched=len(matched),
        borderline=borderline,
        failures=listed(failures),
        differences=len(failures),
        blank=len(candidate) == 0 and not pairs.own.any(),
    )


def _fault(judge: Judge, candidate: InstanceMasksResult) -> str | None:
    """Words for what cannot be compared."""
    if not judge.is_finite:
        return "NaN or infinity in the masks or scores of PyTorch"
    if not np.isfinite(candidate.scores).all():
        return "NaN or infinity in the scores of the backend"
    if candidate.masks.shape[1:] != judge.masks.shape[1:]:
        ours, theirs = list(judge.masks.shape[1:]), list(candidate.masks.shape[1:])
        return f"masks: the backend gives {theirs}, PyTorch {ours}"
    return None


def _errors(
    judge: Judge, pairs: Pairs, candidate: InstanceMasksResult, near: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Of each instance as each pair, [n, P]: how far its score is off, and the part of its pixels that is wrong."""
    count, size = judge.masks.shape[0], int(np.prod(judge.masks.shape[1:]))
    logits = judge.masks.reshape(count, size)
    masks = candidate.masks.reshape(len(candidate), size).astype(np.float32)
    inside, outside = ((side > near).astype(np.float32) for side in (logits, -logits))
    wrong = masks @ outside.T + inside.sum(axis=1) - masks @ inside.T  # [n, Q]
    means = masks @ sigmoid(logits).T / (masks.sum(axis=1, keepdims=True) + EPSILON)
    scores = judge.scores(pairs, means)
    return np.abs(scores - candidate.scores[:, None]).astype(np.float64), wrong[:, pairs.places] / float(size)


def sigmoid(logits: NDArray[np.float32]) -> NDArray[np.float32]:
    """1 / (1 + exp(-x)), without an overflow."""
    probabilities: NDArray[np.float32] = np.float32(0.5) * (np.float32(1.0) + np.tanh(np.float32(0.5) * logits))
    return probabilities


def _failures(
    candidate: InstanceMasksResult,
    pairs: Pairs,
    distances: tuple[NDArray[np.float64], NDArray[np.float64]],
    matched: list[tuple[int, int]],
    near_misses: list[tuple[int, int]],
) -> list[str]:
    """Words for every instance that nothing explains."""
    errors, wrong = distances
    failures = [
        f"{_words(candidate, row)} is {errors[row, column]:.3g} of score and {wrong[row, column]:.3g} of the pixels "
        "away"
        for row, column in near_misses
    ]
    rows, columns = ({pair[side] for pair in matched + near_misses} for side in (0, 1))
    failures += [
        f"the backend misses label {pairs.labels[column]} with score {pairs.scores[column]:.4f}"
        for column in np.flatnonzero(pairs.needed).tolist()
        if column not in columns
    ]
    failures += [
        f"PyTorch does not have {_words(candidate, row)}"
        for row in range(len(candidate))
        if row not in rows and not pairs.may_come(float(candidate.scores[row]))
    ]
    return failures


def _borderline(
    judge: Judge, pairs: Pairs, candidate: InstanceMasksResult, matched: list[tuple[int, int]], near: float
) -> tuple[Borderline, ...]:
    """What differs and may."""
    changed = [int((candidate.masks[row] != (judge.masks[pairs.places[column]] > 0)).sum()) for row, column in matched]
    entries = []
    if any(changed):
        masks = sum(count > 0 for count in changed)
        entries.append(
            Borderline(f"{sum(changed)} pixels of {masks} masks differ", f"logits within {near:.3g} of 0 in PyTorch")
        )
    places, rows = ({pair[side] for pair in matched} for side in (1, 0))
    entries += [
        Borderline(f"only the backend has {_words(candidate, row)}", pairs.reason)
        for row in range(len(candidate))
        if row not in rows and pairs.may_come(float(candidate.scores[row]))
    ]
    for column in np.flatnonzero(pairs.own & ~pairs.needed).tolist() + sorted(places - {*np.flatnonzero(pairs.own)}):
        if (column in places) != bool(pairs.own[column]):
            who = "only the backend" if column in places else "only PyTorch"
            words = f"{who} has label {pairs.labels[column]} with score {pairs.scores[column]:.6f}"
            entries.append(Borderline(words, pairs.reason))
    return tuple(entries[:MAX_LISTED])


def _figures(
    errors: NDArray[np.float64], wrong: NDArray[np.float64], gate: float, pixels: float
) -> tuple[Figure, Figure]:
    largest, mean = (float(wrong.max(initial=0.0)), float(wrong.mean()) if wrong.size else 0.0)
    return (
        figure("scores", errors, np.zeros_like(errors), gate=gate),
        Figure("mask pixels beyond rounding", "of all", largest, mean, None, wrong.size, pixels),
    )


def _words(candidate: InstanceMasksResult, row: int) -> str:
    area = int(candidate.masks[row].sum())
    return f"label {candidate.labels[row]}, score {candidate.scores[row]:.4f}, mask of {area} cells"
