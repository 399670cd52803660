"""KITTI's average precision at 40 recalls, of clouds that count with weights."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from zoo.metrics.kitti_matching import Steps

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

RECALLS = 40
ELEMENTS = 4_000_000  # of the [draws, steps] arrays that are made at a time: 32 MB each


@dataclass(frozen=True)
class Curve:
    """The steps of all clouds of one class and difficulty, best score first, each with its cloud's place."""

    scores: Floats
    right: Ints
    wrong: Ints
    cloud: Ints
    hits: Floats
    hit_cloud: Ints
    objects: Ints

    @classmethod
    def of(cls, clouds: Sequence[Steps]) -> Self:
        """From those of each cloud, in the order of the data set."""
        place = np.repeat(np.arange(len(clouds)), [len(one.scores) for one in clouds])
        hit_place = np.repeat(np.arange(len(clouds)), [len(one.hits) for one in clouds])
        scores, right, wrong, hits = (
            np.concatenate([np.zeros(0, dtype), *(getattr(one, name) for one in clouds)])
            for name, dtype in (("scores", np.float64), ("right", np.int64), ("wrong", np.int64), ("hits", np.float64))
        )
        order, hit_order = np.argsort(-scores, kind="stable"), np.argsort(-hits, kind="stable")
        objects = np.array([one.objects for one in clouds], np.int64)
        return cls(
            *(scores[order], right[order], wrong[order], place[order]),
            *(hits[hit_order], hit_place[hit_order], objects),
        )

    def average_precision(self, counts: Ints) -> Floats:
        """float64 [R], 0..1, where cloud i is there `counts[r, i]` times, int64 [R, n]; NaN without objects."""
        parts = max(1, math.ceil(len(counts) * (len(self.scores) + len(self.hits)) / ELEMENTS))
        return np.concatenate([self._average_precision(part) for part in np.array_split(counts, parts)])

    def _average_precision(self, counts: Ints) -> Floats:
        total = counts @ self.objects
        thresholds = self._thresholds(counts, total)
        right, wrong = (
            np.pad((counts[:, self.cloud] * steps).cumsum(axis=1), ((0, 0), (1, 0)))
            for steps in (self.right, self.wrong)
        )
        reached = np.searchsorted(-self.scores, -np.nan_to_num(thresholds, nan=np.inf), side="right")
        hits, misses = (np.take_along_axis(sums, reached, axis=1) for sums in (right, wrong))
        precision = np.where(np.isnan(thresholds), 0.0, hits / np.maximum(hits + misses, 1))
        best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
        return np.where(total > 0, best[:, 1:].sum(axis=1) / RECALLS, np.nan)

    def _thresholds(self, counts: Ints, total: Ints) -> Floats:
        """[R, 41]: the scores at which recall comes nearest to 0, 1/40, 2/40 ... 1; NaN where it is not reached.

        As the development kit chooses them, one pass over the sorted hits: a hit is passed over while the next one is
        nearer to the recall that is due; the last one never is. The kit takes each hit once, so that 40 objects or
        fewer never come to 100 points; here a hit is taken for each recall that it is nearest to. From 60 objects on
        no hit is nearest to two, and both are the same.
        """
        weights = counts[:, self.hit_cloud].cumsum(axis=1)
        last = (weights[:, -1] if len(self.hits) else np.zeros(len(counts), np.int64)) - 1
        thresholds = np.full((len(counts), RECALLS + 1), np.nan)
        place, due = np.zeros(len(counts), np.int64), 0.0
        for step in range(RECALLS + 1):
            nearest = np.ceil(total * due - 1.5 - 1e-6).astype(np.int64)
            nearest += ((nearest + 2) / np.maximum(total, 1) - due) < (due - (nearest + 1) / np.maximum(total, 1))
            reached = (last < 0) | ((place >= last) & (due > (last + 1) / np.maximum(total, 1) + 1e-9))
            place = np.minimum(np.maximum(place, nearest), last)
            for draw in np.flatnonzero(~reached):
                thresholds[draw, step] = self.hits[np.searchsorted(weights[draw], place[draw], side="right")]
            due += 1 / RECALLS
        return thresholds
