"""The masks of paired detections: probabilities, cell by cell of the box."""

from collections.abc import Mapping, Sequence

import numpy as np

from pipeline.parity.describe import describe
from pipeline.parity.records import Figure
from pipeline.parity.tensors import figure
from zoo.structures import DetectionResult, InstanceSegmentationResult


def compare_masks(
    reference: DetectionResult,
    candidate: DetectionResult,
    pairs: Sequence[tuple[int, int]],
    gates: Mapping[str, float],
) -> tuple[tuple[Figure, ...], list[str]]:
    """The figure of all pairs (index in reference, index in candidate), and words for each pair beyond the gate.

    Nothing of either where the detections have no masks. The masks of a pair lie in boxes that the gate for boxes
    holds together, so they are compared in the box's own frame.
    """
    if not (isinstance(reference, InstanceSegmentationResult) and isinstance(candidate, InstanceSegmentationResult)):
        return (), []
    rows, columns = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    ours, theirs = reference.masks[rows], candidate.masks[columns]
    errors = np.abs(ours - theirs).max(axis=(1, 2), initial=0.0)
    wrong = [
        f"the mask of {describe(reference, row)} is {error:.3g} away"
        for row, error in zip(rows.tolist(), errors.tolist(), strict=True)
        if error > gates["masks"]
    ]
    return (figure("masks", ours, theirs, gate=gates["masks"]),), wrong
