"""The keypoints of paired detections: their places, and the heatmaps' values there.

A keypoint is the largest pixel of a resized heatmap. Where two pixels have nearly the same value, a rounding error
chooses, and the place jumps from one to the other; the value stays. So a few keypoints that are elsewhere, with the
same value within the gate, are borderline: those that moved least. The rest are failures, and a value that differs
always is.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from zoo.comparison import Borderline, Figure, figure, value_range
from zoo.tasks.detection.proof.boxes import format_detection
from zoo.tasks.detection.proof.matching import Details
from zoo.tasks.keypoint_detection.result import KeypointResult


def compare_keypoints(
    reference: KeypointResult,
    candidate: KeypointResult,
    pairs: Sequence[tuple[int, int]],
    gates: Mapping[str, float],
) -> Details:
    """Figures of all pairs (index in reference, index in candidate), what is borderline, and words for what is wrong.

    ``gates``: "keypoints" (pixels), "keypoint_values" (of the range of the reference's values), "moved_keypoints" (the
    part of the keypoints that may lie elsewhere; one always may).
    """
    rows, columns = np.array(pairs, dtype=np.intp).reshape(-1, 2).T
    ours, theirs = reference.keypoints[rows], candidate.keypoints[columns]
    spread = value_range(ours[..., 2]) or 1.0
    far = np.abs(ours[..., :2] - theirs[..., :2]).max(axis=2, initial=0.0)
    same_value = np.abs(ours[..., 2] - theirs[..., 2]) / spread <= gates["keypoint_values"]
    moved = (far > gates["keypoints"]) & same_value
    moved &= _nearest(np.where(moved, far, np.inf), max(1, int(gates["moved_keypoints"] * moved.size)))
    wrong = ~same_value | ((far > gates["keypoints"]) & ~moved)
    steady = ~(moved | wrong)
    points = range(far.shape[1])
    names = [[f"keypoint {point} of {format_detection(reference, row)}" for point in points] for row in rows.tolist()]
    borderline = tuple(
        Borderline(f"{names[pair][point]} is {far[pair, point]:.3g} px away", "the heatmap has the same value there")
        for pair, point in np.argwhere(moved).tolist()
    )
    failures = tuple(
        f"{names[pair][point]} is {far[pair, point]:.3g} px away, its value {ours[pair, point, 2]:.4g} is "
        f"{theirs[pair, point, 2]:.4g}"
        for pair, point in np.argwhere(wrong).tolist()
    )

    def figures(of_places: NDArray[np.bool_], of_values: NDArray[np.bool_]) -> tuple[Figure, Figure]:
        places = ours[of_places, :2], theirs[of_places, :2]
        values = ours[of_values, 2], theirs[of_values, 2]
        return (
            figure("keypoints", *places, unit="px", gate=gates["keypoints"]),
            figure("keypoint values", *values, unit="of range", gate=gates["keypoint_values"], scale=1.0 / spread),
        )

    return Details(figures(~moved, np.ones_like(moved)), borderline, failures, figures(steady, ~wrong))


def _nearest(far: NDArray[np.float32], count: int) -> NDArray[np.bool_]:
    """Where the ``count`` smallest are."""
    nearest = np.zeros(far.size, dtype=np.bool_)
    nearest[np.argsort(far, axis=None, kind="stable")[:count]] = True
    return nearest.reshape(far.shape)
