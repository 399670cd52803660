"""Average precision where images count with weights, which is what a bootstrap over images needs."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

ELEMENTS = 4_000_000  # of the [draws, detections] arrays that are made at a time: 32 MB each
EPSILON = float(np.spacing(1))  # in the denominator of a precision, as COCO's evaluator has it

Flags = NDArray[np.bool_]
Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Rule = Callable[[Ints, Floats, Ints], Floats]
"""A precision-recall curve -> its average precision [R]: right answers so far [R, J], the best precision at that recall
or any higher one [R, J], and the number of objects [R], never 0. J >= 1."""


@dataclass(frozen=True)
class Ranking:
    """The detections of one class over a data set of n images, matched to the truth at each of T IoU thresholds.

    `image` int64 [D]: the place of a detection's image, rising. `scores` [D]. `hits` bool [T, D]: it found an object.
    `ignored` bool [T, D]: it counts neither as right nor as wrong. `truth` int64 [n]: the objects of each image.
    """

    image: Ints
    scores: Floats
    hits: Flags
    ignored: Flags
    truth: Ints

    def average_precision(self, counts: Ints, rule: Rule) -> Floats:
        """float64 [R], 0..1, mean over the thresholds, where image i is there `counts[r, i]` times, int64 [R, n].

        The copies of an image are thought to follow one another. NaN for a draw without objects.
        """
        parts = max(1, math.ceil(len(counts) * len(self.image) / ELEMENTS))
        return np.concatenate([self._average_precision(part, rule) for part in np.array_split(counts, parts)])

    def _average_precision(self, counts: Ints, rule: Rule) -> Floats:
        total = counts @ self.truth
        judged = total > 0
        points = np.where(judged, 0.0, np.nan)
        if judged.any():
            for right, precision in self._curves(counts[judged]):
                points[judged] += rule(right, precision, total[judged])
        return points / len(self.hits)

    def _curves(self, counts: Ints) -> Iterator[tuple[Ints, Floats]]:
        """The curve at each threshold that has hits (see Rule), at its hits alone: precision falls in between."""
        place, copy, is_tied = self._in_turn(counts.max(axis=0))
        weights = counts[:, self.image[place]]
        weights = np.where(is_tied, weights > copy, weights).astype(np.int64, copy=False)
        seen = weights.cumsum(axis=1)
        for hits, ignored in zip(self.hits[:, place], self.ignored[:, place], strict=True):
            hit, skip = np.flatnonzero(hits), np.flatnonzero(ignored)
            if not len(hit):
                continue
            skipped = np.pad(weights[:, skip].cumsum(axis=1), ((0, 0), (1, 0)))[:, np.searchsorted(skip, hit)]
            right = weights[:, hit].cumsum(axis=1)
            precision = right / (seen[:, hit] - skipped + EPSILON)
            yield right, np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]

    def _in_turn(self, most: Ints) -> tuple[Ints, Ints, Flags]:
        """Best score first: the detections' places [D'], which copy each is, and whether it is tied.

        Copies of a detection come as one, with a weight, but for those that have the very score of another one in the
        same image: there, a copy of the image (of which there are `most` [n]) ends before the next one begins.
        """
        ranked = np.argsort(-self.scores, kind="stable")
        image, scores = self.image[ranked], self.scores[ranked]
        is_first = np.ones(len(ranked), bool)
        is_first[1:] = (image[1:] != image[:-1]) | (scores[1:] != scores[:-1])
        group = is_first.cumsum() - 1
        is_tied = np.bincount(group)[group] > 1 if len(group) else np.zeros(0, bool)
        copies = np.where(is_tied, most[image], 1)
        rank = np.repeat(np.arange(len(ranked)), copies)
        copy = np.arange(len(rank)) - np.repeat(copies.cumsum() - copies, copies)
        turn = np.lexsort((rank, copy, group[rank]))
        return ranked[rank[turn]], copy[turn], is_tied[rank[turn]]


def mean_average_precision(rankings: Sequence[Ranking], counts: Ints, rule: Rule) -> Floats:
    """float64 [R], 0..1: the mean over those classes that have objects in a draw; NaN where none has."""
    points = np.asarray([ranking.average_precision(counts, rule) for ranking in rankings]).reshape(-1, len(counts))
    judged = np.isfinite(points)
    classes = judged.sum(axis=0)
    return np.where(classes > 0, np.where(judged, points, 0).sum(axis=0) / np.maximum(classes, 1), np.nan)


def interpolated(levels: Floats) -> Rule:
    """The mean of the best precision at or above each of some levels of recall [L], 0..1."""

    def rule(right: Ints, precision: Floats, total: Ints) -> Floats:
        draws, hits = right.shape
        # The fewest right answers that reach a level: a whole number k with k / total >= level as floats compare, which
        # is how COCO's evaluator compares. Whole numbers can be searched in all draws at once, set end to end.
        wanted = np.ceil(levels * total[:, None] - 1e-6)  # [R, L]
        wanted += wanted / total[:, None] < levels
        behind = np.arange(draws)[:, None]
        step = total.max() + 2
        places = np.searchsorted((right + behind * step).ravel(), (wanted.astype(np.int64) + behind * step).ravel())
        reached = places.reshape(wanted.shape) - behind * hits
        return np.asarray(np.pad(precision, ((0, 0), (0, 1)))[behind, reached].mean(axis=1))

    return rule


def area(right: Ints, precision: Floats, total: Ints) -> Floats:
    """The area under the curve, precision made to fall (a Rule)."""
    steps = np.diff(right, axis=1, prepend=0)
    return np.asarray((steps * precision).sum(axis=1) / total)
