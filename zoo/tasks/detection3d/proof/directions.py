"""Boxes that point the other way, because the two logits of their direction are nearly equal."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.comparison import Borderline
from zoo.tasks.detection.proof.boxes import format_detection
from zoo.tasks.detection3d.result import Detection3DResult

HALF_TURN = np.float32(np.pi)


def turned_back(
    reference: Detection3DResult,
    candidate: Detection3DResult,
    margins: NDArray[Any] | None,
    gates: Mapping[str, float],
) -> tuple[Detection3DResult, tuple[Borderline, ...]]:
    """The candidate with those boxes turned by half a turn that a rounding explains, and what is borderline.

    ``margins`` [n]: of each detection of the reference, how far apart the logits of its two directions are; None: the
    model has none. Where they are nearer than the gate "direction", a box of the same label, place and score may point
    the other way.
    """
    if margins is None or not len(candidate):
        return candidate, ()
    other_way = candidate.boxes.copy()
    other_way[:, 6] += HALF_TURN
    same = (reference.labels[:, None] == candidate.labels[None]) & (
        np.abs(reference.scores[:, None] - candidate.scores[None]) <= gates["scores"]
    )
    form = reference.form
    opposite = same & form.within(reference.boxes, other_way, gates)
    as_it_is = same & form.within(reference.boxes, candidate.boxes, gates)
    boxes, borderline = candidate.boxes.copy(), []
    for index in np.flatnonzero(np.asarray(margins) <= gates["direction"]):
        choices = np.flatnonzero(opposite[index] & ~as_it_is.any(axis=0))
        if as_it_is[index].any() or not len(choices):
            continue
        boxes[choices[0]] = other_way[choices[0]]
        reason = f"its two directions are {float(margins[index]):.3g} apart; the backend's box points the other way"
        borderline.append(Borderline(f"PyTorch: {format_detection(reference, int(index), box_digits=3)}", reason))
    return replace(candidate, boxes=boxes), tuple(borderline)
