"""Headings that a rounding decides: of two ways nearly as good, or of a vector so short that its angle is open."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from zoo.comparison import Borderline
from zoo.errors import InputError
from zoo.tasks.detection.proof.boxes import format_detection
from zoo.tasks.detection3d.result import Detection3DResult

HALF_TURN = np.float32(np.pi)
MARGINS, LENGTHS = "direction_margins", "heading_lengths"


class Headings(NamedTuple):
    """What a model decides the yaws of its detections from: of each one, float32 [n]; None where it has no such thing.

    ``margins``: how far apart the logits of its two directions are. ``lengths``: of the vector whose angle the yaw is.
    """

    margins: NDArray[np.float32] | None
    lengths: NDArray[np.float32] | None

    @classmethod
    def of(cls, detections: Mapping[str, Tensor]) -> "Headings":
        """Those in a model's dictionary. Raises InputError where there is not one for each box."""
        return cls(_each(detections, MARGINS), _each(detections, LENGTHS))


def with_explained_yaws(
    reference: Detection3DResult, candidate: Detection3DResult, headings: Headings, gates: Mapping[str, float]
) -> tuple[Detection3DResult, tuple[Borderline, ...]]:
    """The candidate with the reference's yaw where a rounding explains another one, and what is borderline.

    Of the same label, place and score, a box may point the other way where the logits of its two directions are nearer
    than the gate "direction", and elsewhere where the gate "heading" moves the end of its vector there.
    """
    same = (reference.labels[:, None] == candidate.labels[None]) & (
        np.abs(reference.scores[:, None] - candidate.scores[None]) <= gates["scores"]
    )
    as_it_is = same & reference.form.within(reference.boxes, candidate.boxes, gates)
    free = same & ~as_it_is.any(axis=0)
    boxes, borderline = candidate.boxes.copy(), []
    for index in np.flatnonzero(~as_it_is.any(axis=1) & free.any(axis=1)):
        for tolerance, turn, reason in _choices(headings, int(index), gates):
            turned = boxes.copy()
            turned[:, 6] += turn
            near = reference.form.within(reference.boxes[index][None], turned, {**gates, "yaw": tolerance})[0]
            matches = np.flatnonzero(free[index] & near)
            if len(matches):
                boxes[matches[0], 6] = reference.boxes[index, 6]
                free[:, matches[0]] = False
                detection = f"PyTorch: {format_detection(reference, int(index), box_digits=3)}"
                borderline.append(Borderline(detection, reason))
                break
    return replace(candidate, boxes=boxes), tuple(borderline)


def _choices(headings: Headings, index: int, gates: Mapping[str, float]) -> list[tuple[float, np.float32, str]]:
    """By how much the yaw of a detection may differ, radians, after a turn of the candidate, and why."""
    margins, lengths = headings
    choices = []
    if margins is not None and margins[index] <= gates["direction"]:
        reason = f"its two directions are {float(margins[index]):.3g} apart; the backend's box points the other way"
        choices.append((gates["yaw"], HALF_TURN, reason))
    if lengths is not None:
        length = float(lengths[index])
        tolerance = np.arcsin(gates["heading"] / length) if length > gates["heading"] else HALF_TURN
        reason = f"the vector of its heading is {length:.3g} long; a change of {gates['heading']:g} turns it so far"
        choices.append((float(tolerance), np.float32(0), reason))
    return choices


def _each(detections: Mapping[str, Tensor], name: str) -> Any:
    if name not in detections:
        return None
    values, expected = detections[name].numpy(), list(detections["scores"].shape)
    if list(values.shape) != expected:
        raise InputError(
            f"the model's {name} have the shape {list(values.shape)}, expected {expected}, one for each box"
        )
    return values
