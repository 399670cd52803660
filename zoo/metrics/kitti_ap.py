"""KITTI's average precision of boxes in 3D."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.geometry import bev_iou, iou_3d
from zoo.kitti.boxes import has_area, parts_in_image
from zoo.kitti.difficulty import MIN_HEIGHT
from zoo.metrics.kitti_curve import Curve
from zoo.metrics.kitti_matching import Sides, Steps, steps_of
from zoo.metrics.metric import Metric
from zoo.registry import METRICS
from zoo.tasks.result import TaskOfResult

OVERLAPS = {"3D": iou_3d, "BEV": bev_iou}
LEVELS = ("easy", "moderate", "hard")
MAIN = ("3D", "moderate")

Cloud = Mapping[tuple[str, str, int], Steps]
"""By overlap, difficulty and class."""


@METRICS.register_module()
class KittiAP(Metric):
    """AP R40 of boxes in space (3D) and from above (BEV), easy, moderate and hard; mean over the classes with objects.

    Source: the development kit of KITTI's object benchmark, with 40 recall positions (Simonelli et al., Disentangling
    Monocular 3D Object Detection, ICCV 2019). An object counts where its difficulty is that or an easier one; all
    others are ignored, and so are detections whose box in the image is lower than 40, 25 and 25 pixels. Detections
    outside of the image are left out, as KITTI's result files do not have them. Regions that are marked DontCare
    concern boxes in the image alone. From 60 objects of a class on it is the kit's figure; of fewer see Curve.

    `classes`: the names of the task's classes, in its order, and `iou` the overlap of each that is a match. In points,
    0..100. Gives "kitti/3D_moderate", "kitti/BEV_easy" ..., and of each class "kitti/car_3D_moderate" ...

    Items have "boxes" [m, 7], "labels" and "difficulty" int64 [m] (0, 1, 2; -1: ignored), and where heights in the
    image are to be judged "calibration" and "image_size"; results have `boxes` [n, 7], `scores` and `labels`.
    """

    default_prefix = "kitti"
    main: ClassVar[str] = "_".join(MAIN)
    truth: ClassVar[tuple[str, ...]] = ("boxes", "labels", "difficulty")

    def __init__(
        self,
        classes: Sequence[str] = ("car", "pedestrian", "cyclist"),
        iou: Sequence[float] = (0.7, 0.5, 0.5),
        **options: Any,
    ) -> None:
        super().__init__(**options)
        if len(classes) != len(iou) or not all(0 < each < 1 for each in iou):
            raise InputError(
                f"KittiAP: got iou {tuple(iou)} for the classes {', '.join(classes)}, expected a number above 0 and "
                "below 1 for each"
            )
        self.classes, self.iou = tuple(classes), tuple(iou)

    def entry(self, item: Mapping[str, Any], result: Any) -> Cloud:
        """One cloud, matched. Raises InputError where item or result lack a field, or have other classes."""
        boxes, labels, levels = (np.asarray(self.field(item, name)) for name in self.truth)
        found, scores, ids = (np.asarray(self.field(result, name)) for name in ("boxes", "scores", "labels"))
        self._check_classes(getattr(result, "task", None), np.concatenate((labels, ids)))
        heights, inside = _in_image(found, item)
        found, scores, ids, heights = (array[inside] for array in (found, scores.astype(np.float64), ids, heights))
        cloud: dict[tuple[str, str, int], Steps] = {}
        for name, overlap in OVERLAPS.items():
            overlaps = overlap(boxes, found)
            for level, words in enumerate(LEVELS):
                small = heights < MIN_HEIGHT[level]
                for label in range(len(self.classes)):
                    own, judged = labels == label, (ids == label) | small  # a small one of any class may be taken
                    counts = (levels >= 0) & (levels <= level)
                    sides = Sides(overlaps[own][:, judged], counts[own], scores[judged], small[judged])
                    cloud[name, words, label] = steps_of(sides, self.iou[label])
        return cloud

    def _check_classes(self, task: TaskOfResult | None, labels: NDArray[np.int64]) -> None:
        """Raises InputError where the names of the task's classes, in any case, are others, or a label has no name."""
        ours, names = ", ".join(self.classes), None if task is None else ", ".join(info.name for info in task.classes)
        if names is not None and names.lower() != ours.lower():
            wrong = f"got the classes {ours}, but those of the task are {names}"
        elif len(labels) and not 0 <= labels.min() <= labels.max() < len(self.classes):
            wrong = f"got labels {labels.min()} to {labels.max()}, expected 0 to {len(self.classes) - 1}, of {ours}"
        else:
            return
        raise InputError(f"KittiAP: {wrong}; give the evaluator classes= as the task has them, and the iou of each")

    def figures(self, entries: Sequence[Cloud]) -> dict[str, float]:
        """Points by name."""
        once = np.ones((1, len(entries)), np.int64)
        figures: dict[str, float] = {}
        for name in OVERLAPS:
            for level in LEVELS:
                figures[f"{name}_{level}"] = float(self._mean(entries, once, name, level)[0])
        for label, kind in enumerate(self.classes):
            for name in OVERLAPS:
                for level in LEVELS:
                    points = 100 * self._curve(entries, name, level, label).average_precision(once)
                    figures[f"{kind}_{name}_{level}"] = float(points[0])
        return figures

    def resampled(self, per_image: Sequence[Cloud], counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """3D moderate of each draw (see Metric)."""
        return self._mean(per_image, counts, *MAIN)

    def _mean(self, entries: Sequence[Cloud], counts: NDArray[np.int64], name: str, level: str) -> NDArray[np.float64]:
        points = np.stack(
            [self._curve(entries, name, level, label).average_precision(counts) for label in range(len(self.classes))]
        )
        judged = np.isfinite(points)
        total = np.where(judged, points, 0).sum(axis=0)
        return np.where(judged.any(axis=0), 100 * total / np.maximum(judged.sum(axis=0), 1), np.nan)

    def _curve(self, entries: Sequence[Cloud], name: str, level: str, label: int) -> Curve:
        return Curve.of([entry[name, level, label] for entry in entries])


def _in_image(boxes: NDArray[Any], item: Mapping[str, Any]) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """The height [n] of each box in the image in pixels, and whether a part of it is in the image.

    Without a calibration all boxes are high enough.
    """
    if "calibration" not in item:
        return np.full(len(boxes), np.inf), np.ones(len(boxes), bool)
    parts = parts_in_image(boxes, item["calibration"], item["image_size"])
    return parts[:, 3] - parts[:, 1], has_area(parts)
