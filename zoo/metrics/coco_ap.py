"""What COCO's average precisions share, whatever the shape of an object."""

import contextlib
import io
import logging
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

# pycocotools rather than faster-coco-eval: it is the reference whose figures papers compare, and the digits' sizes (at
# most a few hundred images) leave nothing to be gained from a faster one.
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from zoo.metrics.metric import Metric
from zoo.metrics.ranking import Ranking, interpolated, mean_average_precision

logger = logging.getLogger(__name__)

FAR = -1e9  # pixels: the place of what is not finite, where no object is
BOX = "bbox"  # as COCOeval calls this shape
BOX_STATS = ("box_AP", "box_AP50", "box_AP75")

Columns = dict[str, list[Any]]
"""Fields of COCO's annotations, each with a value for every object of an image."""


@dataclass(frozen=True)
class CocoImage:
    """An image: its truth, and the model's result."""

    image_id: int
    truth: Columns
    result: Columns


class CocoAP(Metric):
    """AP over IoU 0.50:0.05:0.95 in points 0..100, mean over the classes that have truth, as COCO's evaluator has it.

    Source: pycocotools' COCOeval (Lin et al., Microsoft COCO, 2014; https://cocodataset.org/#detection-eval): 101-point
    interpolation; of each image the detections with the best scores alone (100 of a class; 20 with keypoints); objects
    that are `iscrowd` neither count nor punish; small is an area below 32x32 pixels, large one above 96x96.

    Where items and results have boxes, the AP of these stands beside that of other shapes: "coco/box_AP" and so on.

    Items have "image_id", "labels" int64 [n] and optionally "iscrowd" [n] and "areas" [n] in pixels; results have
    `scores` [n] and `labels` [n]. Labels are the model's own ids. As in COCOeval, equal scores of different images
    rank by image id.
    """

    default_prefix = "coco"
    shape: ClassVar[str]
    """What COCOeval calls the shape that it compares: "bbox", "segm" or "keypoints"."""
    stats: ClassVar[tuple[str, ...]]
    """Names for the first of COCOeval's stats; the main one first."""

    def truth_shapes(self, item: Mapping[str, Any]) -> Columns:
        """The shapes of an item's objects, and "area": that of the item, else of the shapes.

        Raises InputError as `result_shapes`.
        """
        columns = self.result_shapes(item, item)
        return columns | ({"area": np.asarray(item["areas"]).tolist()} if "areas" in item else {})

    @abstractmethod
    def result_shapes(self, item: Mapping[str, Any], result: Any) -> Columns:
        """The shapes that a result has, and their "area" as COCO.loadRes computes it."""

    def entry(self, item: Mapping[str, Any], result: Any) -> CocoImage:
        """One image. Raises InputError where item or result lack a field."""
        labels = np.asarray(self.field(item, "labels"), np.int64).tolist()
        crowds = np.asarray(item.get("iscrowd", [0] * len(labels)), np.int64).tolist()
        fields = {name: np.asarray(self.field(result, name)).tolist() for name in ("labels", "scores")}
        return CocoImage(
            int(self.field(item, "image_id")),
            {"category_id": labels, "iscrowd": crowds} | self.truth_shapes(item),
            {"category_id": fields["labels"], "score": fields["scores"]} | self.result_shapes(item, result),
        )

    def figures(self, entries: Sequence[CocoImage]) -> dict[str, float]:
        """COCOeval's own stats."""
        figures = self._stats(entries, self.shape, self.stats)
        if self.shape != BOX and all(BOX in image.truth and BOX in image.result for image in entries):
            figures |= self._stats(entries, BOX, BOX_STATS)
        return figures

    def _stats(self, entries: Sequence[CocoImage], shape: str, names: Sequence[str]) -> dict[str, float]:
        with _quiet():
            evaluation = self.evaluation(entries, shape)
            evaluation.evaluate()
            evaluation.accumulate()
            evaluation.summarize()
        points = [100 * float(value) if value >= 0 else float("nan") for value in evaluation.stats[: len(names)]]
        return dict(zip(names, points, strict=True))

    def resampled(self, per_image: Sequence[CocoImage], counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """One run of COCOeval's matching, then weighted sums for each draw (see Metric)."""
        with _quiet():
            evaluation = self.evaluation(per_image, self.shape)
            evaluation.params.areaRng, evaluation.params.areaRngLbl = evaluation.params.areaRng[:1], ["all"]
            evaluation.evaluate()
        params, size = evaluation.params, len(per_image)
        rankings = [
            _ranking(evaluation.evalImgs[start : start + size], len(params.iouThrs))
            for start in range(0, len(evaluation.evalImgs), size or 1)
        ]
        in_order = counts[:, _by_image_id(per_image)]
        return 100 * mean_average_precision(rankings, in_order, interpolated(params.recThrs))

    def evaluation(self, entries: Sequence[CocoImage], shape: str) -> COCOeval:
        """COCOeval of a shape, ready to run, on images numbered by their ids' order: one that is there twice is two."""
        ordered = [entries[place] for place in _by_image_id(entries)]
        truth = _annotations([image.truth for image in ordered])
        results = _annotations([image.result for image in ordered])
        labels = sorted({record["category_id"] for record in (*truth, *results)})
        return COCOeval(_coco(len(ordered), labels, truth), _coco(len(ordered), labels, results), shape)


def boxes_of(record: Any, size: tuple[int, int] | None = None) -> Columns:
    """The column of an item's or a result's boxes, where it has some; clipped to an image of `size` (height, width)."""
    boxes = record.get("boxes") if isinstance(record, Mapping) else getattr(record, "boxes", None)
    if boxes is None:
        return {}
    if size is not None:
        boxes = np.asarray(boxes, np.float64).reshape(-1, 4)
        finite = np.isfinite(boxes).all(axis=1, keepdims=True)
        boxes = np.where(finite, np.clip(boxes, 0, [*size[::-1]] * 2), np.nan)
    return {BOX: xywh(boxes)}


def xywh(boxes: ArrayLike) -> list[list[float]]:
    """Boxes [n, 4] x1 y1 x2 y2 as COCO has them. One that is not finite is far away: pycocotools takes it for right."""
    corners = np.asarray(boxes, np.float64).reshape(-1, 4)
    corners = np.where(np.isfinite(corners).all(axis=1, keepdims=True), corners, [FAR, FAR, FAR + 1, FAR + 1])
    sides: list[list[float]] = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], axis=1).tolist()
    return sides


def _by_image_id(entries: Sequence[CocoImage]) -> NDArray[np.int64]:
    return np.argsort([image.image_id for image in entries], kind="stable")


def _annotations(images: Sequence[Columns]) -> list[dict[str, Any]]:
    """The objects of all images, each with its own fields, the number of its image, and an id from 1."""
    objects = [
        (number, dict(zip(columns, values, strict=True)))
        for number, columns in enumerate(images)
        for values in zip(*columns.values(), strict=True)
    ]
    return [fields | {"image_id": number, "id": place} for place, (number, fields) in enumerate(objects, 1)]


def _coco(images: int, labels: Sequence[int], annotations: list[dict[str, Any]]) -> COCO:
    coco = COCO()
    coco.dataset = {
        "images": [{"id": number, "height": 0, "width": 0} for number in range(images)],  # sizes: for polygons only
        "annotations": annotations,
        "categories": [{"id": label} for label in labels],
    }
    coco.createIndex()
    return coco


def _ranking(images: Sequence[dict[str, Any] | None], thresholds: int) -> Ranking:
    """One class: what COCOeval.evaluate found in each image, None where it is neither in truth nor in results."""
    judged = [(number, image) for number, image in enumerate(images) if image is not None]
    truth = np.zeros(len(images), np.int64)
    for number, image in judged:
        truth[number] = np.count_nonzero(np.equal(image["gtIgnore"], 0))
    places = np.repeat([number for number, _ in judged], [len(image["dtScores"]) for _, image in judged])
    none = np.zeros((thresholds, 0), bool)
    matched = np.concatenate([none, *(image["dtMatches"] > 0 for _, image in judged)], axis=1)
    ignored = np.concatenate([none, *(image["dtIgnore"] for _, image in judged)], axis=1)
    scores = np.concatenate([np.zeros(0), *(image["dtScores"] for _, image in judged)])
    return Ranking(places.astype(np.int64), scores, matched & ~ignored, ignored, truth)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """pycocotools prints; libraries here log."""
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        yield
    logger.debug("%s", output.getvalue())
