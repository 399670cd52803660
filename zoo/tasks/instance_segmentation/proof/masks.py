"""The masks of paired detections: probabilities, cell by cell of the box."""

from collections.abc import Mapping, Sequence

import numpy as np

from zoo.comparison import figure
from zoo.tasks.detection.proof.boxes import format_detection
from zoo.tasks.detection.proof.matching import Details
from zoo.tasks.instance_segmentation.result import InstanceSegmentationResult


def compare_masks(
    reference: InstanceSegmentationResult,
    candidate: InstanceSegmentationResult,
    pairs: Sequence[tuple[int, int]],
    gates: Mapping[str, float],
) -> Details:
    """The figure of all pairs (index in reference, index in candidate), and words for each pair beyond the gate.

    The masks of a pair lie in boxes that the gate for boxes holds together, so they are compared in the box's own
    frame.
    """
    rows, columns = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    ours, theirs = reference.masks[rows], candidate.masks[columns]
    errors = np.abs(ours - theirs).max(axis=(1, 2), initial=0.0)
    wrong = tuple(
        f"the mask of {format_detection(reference, row)} is {error:.3g} away"
        for row, error in zip(rows.tolist(), errors.tolist(), strict=True)
        if error > gates["masks"]
    )
    within = errors <= gates["masks"]
    every, steady = (figure("masks", ours[at], theirs[at], gate=gates["masks"]) for at in (slice(None), within))
    return Details((every,), (), wrong, (steady,))
