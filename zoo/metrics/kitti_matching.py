"""Which detections of one cloud are right, by the rules of KITTI's development kit, at every score threshold.

Source: evaluate_object_3d_offline.cpp of the development kit (Geiger et al., Are we ready for Autonomous Driving? The
KITTI Vision Benchmark Suite, CVPR 2012). At a threshold, each object takes the detection that overlaps it most, of
those above it that no object before has taken; a detection that is too small to be judged is taken where there is no
other. Whether an object counts depends on the difficulty; one that does not takes detections all the same.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]

NOTHING = -1


class Sides(NamedTuple):
    """The objects and the detections of one cloud that one class and difficulty are concerned with.

    `overlaps` [n, d]: of object and detection. `counts` bool [n]: objects to find; all others are ignored. `scores`
    [d]. `small` bool [d]: detections that are ignored, because their image box is too low.
    """

    overlaps: Floats
    counts: Flags
    scores: Floats
    small: Flags


@dataclass(frozen=True)
class Steps:
    """The right and the wrong detections of one cloud as functions of the threshold, and what sets the thresholds.

    `scores` [e]: falling; at a threshold, `right` and `wrong` int64 [e] of the scores at or above it sum up to the
    detections that are right and wrong. `hits` [h]: the scores of the objects that are found where there is no
    threshold. `objects`: how many are to be found.
    """

    scores: Floats
    right: Ints
    wrong: Ints
    hits: Floats
    objects: int


def steps_of(sides: Sides, least: float) -> Steps:
    """Of one cloud; an overlap above `least` is a match."""
    near: Flags = np.any(sides.overlaps > least, axis=0)
    alone = ~near & ~sides.small  # wrong at every threshold below their score
    thresholds = np.unique(sides.scores[near])[::-1]
    totals = np.array([_judged(sides, least, score, near) for score in thresholds], np.int64).reshape(-1, 2)
    changes = np.diff(totals, axis=0, prepend=0)
    scores = np.concatenate((thresholds, sides.scores[alone]))
    right = np.concatenate((changes[:, 0], np.zeros(alone.sum(), np.int64)))
    wrong = np.concatenate((changes[:, 1], np.ones(alone.sum(), np.int64)))
    order = np.argsort(-scores, kind="stable")
    return Steps(scores[order], right[order], wrong[order], _hits(sides, least), int(sides.counts.sum()))


def _hits(sides: Sides, least: float) -> Floats:
    """The scores of the objects that are found: here each object takes the best score that overlaps it."""
    taken, hits = np.zeros(len(sides.scores), bool), []
    for overlaps, counts in zip(sides.overlaps, sides.counts, strict=True):
        free = np.flatnonzero((overlaps > least) & ~taken)
        if not len(free):
            continue
        best = int(free[np.argmax(sides.scores[free])])
        taken[best] = True
        if counts and not sides.small[best]:
            hits.append(float(sides.scores[best]))
    return np.array(hits, np.float64)


def _judged(sides: Sides, least: float, threshold: float, near: Flags) -> tuple[int, int]:
    """Of the detections that overlap an object: how many are right and how many are wrong at a threshold."""
    above = sides.scores >= threshold
    taken, right = np.zeros(len(sides.scores), bool), 0
    for overlaps, counts in zip(sides.overlaps, sides.counts, strict=True):
        chosen = _chosen(overlaps, (overlaps > least) & above & ~taken, sides.small)
        if chosen == NOTHING:
            continue
        taken[chosen] = True
        right += bool(counts and not sides.small[chosen])
    wrong = near & above & ~taken & ~sides.small
    return right, int(wrong.sum())


def _chosen(overlaps: Floats, free: Flags, small: Flags) -> int:
    """The free detection that overlaps most, or else the first of the small ones; NOTHING where none is free."""
    if len(judged := np.flatnonzero(free & ~small)):
        return int(judged[np.argmax(overlaps[judged])])
    rest = np.flatnonzero(free & small)
    return int(rest[0]) if len(rest) else NOTHING
