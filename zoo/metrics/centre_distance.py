"""nuScenes' mean average precision, by the distance of centres."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.metrics.metric import Metric
from zoo.registry import METRICS

DISTANCES = (0.5, 1.0, 2.0, 4.0)  # metres, from above
RECALLS = np.linspace(0, 1, 101)
LEAST_RECALL, LEAST_PRECISION = 0.1, 0.1
FIRST = round(100 * LEAST_RECALL) + 1


@dataclass(frozen=True)
class CentreCloud:
    """The detections of a cloud, best score first: `labels` [d], `scores` [d], `hits` bool [4, d], by DISTANCES.

    `truth`: the labels of the objects.
    """

    labels: NDArray[np.int64]
    scores: NDArray[np.float64]
    hits: NDArray[np.bool_]
    truth: NDArray[np.int64]


@METRICS.register_module()
class CentreDistanceMAP(Metric):
    """Mean of the APs at 0.5, 1, 2 and 4 metres between the centres, seen from above, and over the classes; points.

    Source: Caesar et al., nuScenes: A multimodal dataset for autonomous driving, CVPR 2020, and its devkit. Best score
    first, a detection takes the nearest object of its class that none before it has taken, and is right where that is
    nearer than the distance. AP is the mean of the precision at the recalls 0.11, 0.12 ... 1, less 0.1 and not below 0,
    as a part of 0.9. Difficulty does not matter; objects that an item marks as "difficult" are left out.

    Items have "boxes" [m, 7] and "labels"; results have `boxes` [n, 7], `scores` and `labels`. Gives "nuscenes/mAP",
    and "nuscenes/AP_0.5m" ...
    """

    default_prefix = "nuscenes"
    main: ClassVar[str] = "mAP"
    truth: ClassVar[tuple[str, ...]] = ("boxes", "labels")

    def entry(self, item: Mapping[str, Any], result: Any) -> CentreCloud:
        """One cloud, matched. Raises InputError where item or result lack a field."""
        boxes, truth = (np.asarray(self.field(item, name)) for name in self.truth)
        kept = ~np.asarray(item.get("difficult", np.zeros(len(truth))), bool)
        boxes, truth = boxes[kept].astype(np.float64), truth[kept].astype(np.int64)
        found, scores, labels = (np.asarray(self.field(result, name)) for name in ("boxes", "scores", "labels"))
        order = np.argsort(-scores.astype(np.float64), kind="stable")
        found, scores, labels = found[order].astype(np.float64), scores[order].astype(np.float64), labels[order]
        apart = np.hypot(*(found[:, None, axis] - boxes[None, :, axis] for axis in (0, 1)))
        apart[labels[:, None] != truth] = np.inf
        hits = np.array([_hits(apart, distance) for distance in DISTANCES], bool).reshape(len(DISTANCES), -1)
        return CentreCloud(labels.astype(np.int64), scores, hits, truth)

    def figures(self, entries: Sequence[CentreCloud]) -> dict[str, float]:
        """Points by name."""
        points = 100 * _average_precisions(entries)
        figures = {"mAP": _mean(points)}
        return figures | {f"AP_{distance:g}m": _mean(each) for distance, each in zip(DISTANCES, points, strict=True)}

    def resampled(self, per_image: Sequence[CentreCloud], counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """mAP of each draw (see Metric), of its clouds written out."""
        places = [np.repeat(np.arange(len(draw)), draw).tolist() for draw in counts]
        points = [100 * _mean(_average_precisions([per_image[place] for place in drawn])) for drawn in places]
        return np.array(points, np.float64)


def _hits(apart: NDArray[np.float64], distance: float) -> NDArray[np.bool_]:
    """Which detections [d] are right, `apart` [d, m] metres from each object, infinite from other classes'."""
    free = np.ones(apart.shape[1], bool)
    hits = np.zeros(len(apart), bool)
    for place, row in enumerate(apart):
        if not free.any():
            break
        nearest = int(np.argmin(np.where(free, row, np.inf)))
        hits[place] = free[nearest] and row[nearest] < distance
        free[nearest] &= not hits[place]
    return hits


def _average_precisions(clouds: Sequence[CentreCloud]) -> NDArray[np.float64]:
    """AP [4, classes], 0..1, of the classes that have objects."""
    truth = np.concatenate([np.zeros(0, np.int64), *(cloud.truth for cloud in clouds)])
    if not clouds or not len(truth):
        return np.zeros((len(DISTANCES), 0))
    labels = np.concatenate([cloud.labels for cloud in clouds])
    scores = np.concatenate([cloud.scores for cloud in clouds])
    hits = np.concatenate([cloud.hits for cloud in clouds], axis=1)
    order = np.argsort(-scores, kind="stable")
    labels, hits = labels[order], hits[:, order]
    classes, objects = np.unique(truth, return_counts=True)
    return np.stack(
        [
            [
                _average_precision(row[labels == label], int(count))
                for label, count in zip(classes, objects, strict=True)
            ]
            for row in hits
        ]
    )


def _average_precision(hits: NDArray[np.bool_], objects: int) -> float:
    """Of the detections of one class, best first."""
    if not hits.any():
        return 0.0
    right = hits.cumsum()
    precision = right / np.arange(1, len(hits) + 1)
    at_recalls = np.interp(RECALLS, right / objects, precision, right=0)[FIRST:]
    above = np.maximum(at_recalls - LEAST_PRECISION, 0) / (1 - LEAST_PRECISION)  # each at most 1, hence their mean, too
    return float(above.mean())


def _mean(points: NDArray[np.float64]) -> float:
    return float(points.mean()) if points.size else float("nan")
