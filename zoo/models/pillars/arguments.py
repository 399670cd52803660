"""Checks of the numbers that a config gives a detector on pillars. Each fault is one line that begins with its key."""

import math
from collections.abc import Sequence

from zoo.errors import InputError

RANGE = 6  # lowest x y z, then highest


def check_grid(point_range: Sequence[float], pillar_size: float, strides: Sequence[int]) -> None:
    """Raise InputError for a range that is no six finite numbers, a side that is no length, and strides below 1."""
    if len(point_range) != RANGE or not all(map(math.isfinite, point_range)):
        raise InputError(
            f"point_range: got {tuple(point_range)}, expected 6 finite numbers: lowest x y z, then highest, metres"
        )
    if not 0 < pillar_size < math.inf:
        raise InputError(f"pillar_size: got {pillar_size:g}, expected the side of a pillar, more than 0 metres")
    if not all(map(_is_count, strides)):
        raise InputError(f"strides: got {tuple(strides)}, expected integers, 1 or more")


def check_decisions(*, score_thresh: float, nms_thresh: float, topk_candidates: int, detections_per_img: int) -> None:
    """Raise InputError for thresholds that are not from 0 to 1, and numbers of boxes below 1."""
    for name, threshold in {"score_thresh": score_thresh, "nms_thresh": nms_thresh}.items():
        if not 0 <= threshold <= 1:
            raise InputError(f"{name}: got {threshold:g}, expected a number from 0 to 1")
    for name, count in {"topk_candidates": topk_candidates, "detections_per_img": detections_per_img}.items():
        if not _is_count(count):
            raise InputError(f"{name}: got {count!r}, expected an integer, 1 or more")


def _is_count(value: object) -> bool:
    return type(value) is int and value >= 1
