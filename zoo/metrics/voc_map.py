"""PASCAL VOC's mean average precision."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError, nearest
from zoo.geometry.upright_boxes import box_iou
from zoo.metrics.metric import Metric
from zoo.metrics.ranking import Ranking, Rule, area, interpolated, mean_average_precision
from zoo.registry import METRICS

# Tenths that are the floats nearest to them, so that a recall of 3 in 10 reaches 0.3.
RULES: Mapping[str, Rule] = {"area": area, "11-point": interpolated(np.arange(11) / 10)}


@dataclass(frozen=True)
class VOCImage:
    """The detections of an image: `labels` [d], `scores` [d], `hits` and `ignored` bool [d]; and its `truth`.

    `truth`: the labels of the objects that are not difficult.
    """

    labels: NDArray[np.int64]
    scores: NDArray[np.float64]
    hits: NDArray[np.bool_]
    ignored: NDArray[np.bool_]
    truth: NDArray[np.int64]


@METRICS.register_module()
class VOCmAP(Metric):
    """AP at one IoU, mean over the classes that have truth, in points 0..100.

    Source: VOCevaldet of the VOC devkit (Everingham et al., The PASCAL Visual Object Classes Challenge, 2010). Best
    score first, a detection is compared with the object of its class that it overlaps most: right where the IoU is at
    least `iou`, wrong where another detection has found that object before (no second choice), and neither where the
    object is difficult. `form`: "area" under the curve (VOC 2010 to 2012), or "11-point" (2007). Equal scores rank in
    the order of the data set.

    Items have "boxes" [n, 4] x1 y1 x2 y2, "labels" int64 [n] and optionally "difficult" bool [n]; results have `boxes`,
    `scores` and `labels`. Boxes are edges in the original image's pixels: for the inclusive coordinates of VOC's files,
    xmin - 1, ymin - 1, xmax, ymax, whose IoU is the devkit's. Gives "voc/mAP".
    """

    default_prefix = "voc"
    main: ClassVar[str] = "mAP"
    truth: ClassVar[tuple[str, ...]] = ("boxes", "labels")

    def __init__(self, iou: float = 0.5, form: str = "area", **options: Any) -> None:
        super().__init__(**options)
        name = type(self).__name__
        if not 0 < iou <= 1:
            raise InputError(f"{name}: got iou {iou}, expected a number above 0 and up to 1, for example 0.5")
        if form not in RULES:
            raise InputError(f'{name}: unknown form "{form}"; {nearest(str(form), RULES)}')
        self.iou = iou
        self.rule = RULES[form]

    def entry(self, item: Mapping[str, Any], result: Any) -> VOCImage:
        """One image, matched. Raises InputError where item or result lack a field."""
        truth = np.asarray(self.field(item, "labels"), np.int64)
        difficult = np.asarray(item.get("difficult", np.zeros(len(truth))), bool)
        labels = np.asarray(self.field(result, "labels"), np.int64)
        scores = np.asarray(self.field(result, "scores"), np.float64)
        overlaps = self.overlaps(item, result)
        overlaps[labels[:, None] != truth] = 0
        hits, ignored = np.zeros((2, len(labels)), bool)
        is_found = np.zeros(len(truth), bool)
        for place in np.argsort(-scores, kind="stable") if len(truth) else ():
            best = overlaps[place].argmax()
            if overlaps[place, best] < self.iou:
                continue
            ignored[place] = difficult[best]
            hits[place] = not difficult[best] and not is_found[best]
            is_found[best] = True
        return VOCImage(labels, scores, hits, ignored, truth[~difficult])

    def overlaps(self, item: Mapping[str, Any], result: Any) -> NDArray[np.float64]:
        """IoU of the result's and the item's boxes, [d, n]."""
        return box_iou(*(np.asarray(self.field(each, "boxes")).reshape(-1, 4) for each in (result, item)))

    def figures(self, entries: Sequence[VOCImage]) -> dict[str, float]:
        """{"mAP": points}."""
        return {"mAP": float(self.resampled(entries, np.ones((1, len(entries)), np.int64))[0])}

    def resampled(self, per_image: Sequence[VOCImage], counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """mAP of each draw (see Metric)."""
        classes = np.unique(np.concatenate([np.zeros(0, np.int64), *(image.truth for image in per_image)]))
        rankings = [_ranking(per_image, label) for label in classes]
        return 100 * mean_average_precision(rankings, counts, self.rule)


def _ranking(images: Sequence[VOCImage], label: np.int64) -> Ranking:
    """The detections of one class."""
    members = [np.flatnonzero(image.labels == label) for image in images]
    scores, hits, ignored = (
        np.concatenate([getattr(image, name)[places] for image, places in zip(images, members, strict=True)])
        for name in ("scores", "hits", "ignored")
    )
    place = np.repeat(np.arange(len(images)), [len(places) for places in members])
    truth = np.asarray([np.count_nonzero(image.truth == label) for image in images], np.int64)
    return Ranking(place, scores, hits[None], ignored[None], truth)
