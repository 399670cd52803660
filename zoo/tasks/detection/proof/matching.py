"""Two sets of detections of one image: paired by label, overlap and score, never by index.

Near-equal scores swap places between PyTorch and an engine, so the order says nothing. What has no partner is a
failure, unless the model's own thresholds explain it (see borderline.py).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from zoo.comparison import Borderline, Figure, Findings, figure
from zoo.comparison.decision_rule import DecisionRule
from zoo.tasks.detection.proof.borderline import Unpaired, explain
from zoo.tasks.detection.proof.boxes import format_detection
from zoo.tasks.detection.result import DetectionResult

SAME_OBJECT_IOU = 0.5  # a pair below it is two objects, not one with an error
MAX_LISTED = 10
# Costs of the assignment. One pair within the gates and one object without partner (2) is cheaper than two pairs
# outside of the gates (each above 1), so an exact pair is never broken up.
OUTSIDE, NO_PARTNER = 1.0, 2.0


@dataclass(frozen=True)
class Excuse:
    """A reason that explains so many differences at ``most``."""

    reason: str
    most: int


class Details(NamedTuple):
    """The outcome for what paired detections have beside boxes and scores, such as masks.

    ``steady``: the figures without what failed, for where an excuse explains the failures.
    """

    figures: tuple[Figure, ...] = ()
    borderline: tuple[Borderline, ...] = ()
    failures: tuple[str, ...] = ()
    steady: tuple[Figure, ...] = ()

    def and_then(self, other: "Details") -> "Details":
        """Both, in this order."""
        return Details(
            self.figures + other.figures,
            self.borderline + other.borderline,
            self.failures + other.failures,
            self.steady + other.steady,
        )


CompareDetails = Callable[[Sequence[tuple[int, int]]], Details]
"""Compares the pairs (index in reference, index in candidate)."""


def compare_detections(
    reference: DetectionResult,
    candidate: DetectionResult,
    gates: Mapping[str, float],
    rule: DecisionRule,
    excuse: Excuse | None = None,
    details: CompareDetails = lambda _pairs: Details(),
) -> Findings:
    """Compare the detections of PyTorch and of a backend; boxes of both in pixels of one frame.

    ``gates``: those of the form of their boxes ("boxes", in pixels), "scores", "nms_iou". ``details``: compares what
    else the detections of a pair have. Findings.matched counts the pairs whose boxes and scores are within the gates.
    ``excuse``: what explains a few differences, which are borderline then. Where there are more, it explains none.
    """
    for side, who in ((reference, "PyTorch"), (candidate, "the backend")):
        if not all(np.isfinite(getattr(side, field.name)).all() for field in fields(side)):
            return Findings.broken((f"NaN or infinity in the detections of {who}",))
    form = reference.form
    pairs = pair_detections(reference, candidate, gates)
    good = [pair for pair in pairs if _within(reference, candidate, *pair, gates)]
    apart = [pair for pair in pairs if pair not in good]
    sides = (
        Unpaired("PyTorch", reference, _others(len(reference), [r for r, _ in good])),
        Unpaired("the backend", candidate, _others(len(candidate), [c for _, c in good])),
    )
    borderline, left = explain(*sides, gates, rule)
    more = details(good)
    borderline += more.borderline
    failures, detail_figures = [*_failures(reference, candidate, apart, left), *more.failures], more.figures
    if excuse is not None and len(failures) <= excuse.most:
        borderline += tuple(Borderline(failure, excuse.reason) for failure in failures)
        failures, left, detail_figures = [], ([], []), more.steady
    counted = [pair for pair in pairs if pair in good or pair[0] in left[0] or pair[1] in left[1]]
    rows, columns = np.array(counted, dtype=np.intp).reshape(-1, 2).T
    return Findings(
        figures=(
            *(
                figure(name, ours, theirs, unit=form.units[name], gate=gates[name])
                for name, (ours, theirs) in form.compared(reference.boxes[rows], candidate.boxes[columns]).items()
            ),
            figure("scores", reference.scores[rows], candidate.scores[columns], gate=gates["scores"]),
            *detail_figures,
        ),
        matched=len(good),
        borderline=borderline,
        failures=listed(failures),
        differences=len(failures),
        blank=len(reference) == 0 and len(candidate) == 0,
    )


def listed(failures: Sequence[str]) -> tuple[str, ...]:
    """The first of them, and how many more there are."""
    more = len(failures) - MAX_LISTED
    return (*failures[:MAX_LISTED], *([f"and {more} more"] if more > 0 else []))


def pair_detections(
    reference: DetectionResult, candidate: DetectionResult, gates: Mapping[str, float]
) -> list[tuple[int, int]]:
    """The best one-to-one pairing of equal labels that overlap, as (index in reference, index in candidate)."""
    form = reference.form
    iou = form.iou(reference.boxes, candidate.boxes)
    score_error = np.abs(reference.scores[:, None] - candidate.scores[None])
    inside = form.within(reference.boxes, candidate.boxes, gates) & (score_error <= gates["scores"])
    possible = (reference.labels[:, None] == candidate.labels[None]) & ((iou >= SAME_OBJECT_IOU) | inside)
    # within the gates the nearest score decides, so that twins of one box are paired rightly
    cost = np.where(inside, (1.0 - iou + score_error) * OUTSIDE / 4, OUTSIDE + (1.0 - iou + score_error) / 2)
    rows, columns = linear_sum_assignment(np.where(possible, cost, NO_PARTNER))
    return [(int(r), int(c)) for r, c in zip(rows, columns, strict=True) if possible[r, c]]


def _within(reference: DetectionResult, candidate: DetectionResult, r: int, c: int, gates: Mapping[str, float]) -> bool:
    same_box = reference.form.within(reference.boxes[r : r + 1], candidate.boxes[c : c + 1], gates)[0, 0]
    return bool(same_box and np.abs(reference.scores[r] - candidate.scores[c]) <= gates["scores"])


def _others(count: int, taken: list[int]) -> list[int]:
    return sorted(set(range(count)) - set(taken))


def _failures(
    reference: DetectionResult,
    candidate: DetectionResult,
    apart: list[tuple[int, int]],
    left: tuple[list[int], list[int]],
) -> list[str]:
    """Words for every detection that nothing explains; the two halves of a pair that is too far apart as one."""
    missing, extra = (list(indices) for indices in left)
    failures = []
    for r, c in apart:
        if r not in missing and c not in extra:
            continue
        missing, extra = [i for i in missing if i != r], [i for i in extra if i != c]
        distance = reference.form.distance(reference.boxes[r], candidate.boxes[c])
        score_error = float(abs(reference.scores[r] - candidate.scores[c]))
        failures.append(f"{format_detection(reference, r)} is {distance} and {score_error:.3g} of score away")
    failures += [f"the backend misses {format_detection(reference, r)}" for r in missing]
    failures += [f"PyTorch does not have {format_detection(candidate, c)}" for c in extra]
    return failures
