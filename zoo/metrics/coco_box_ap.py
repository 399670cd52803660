"""COCO's box average precision."""

import contextlib
import io
import logging
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from mmengine.evaluator import BaseMetric

# pycocotools rather than faster-coco-eval: it is the reference whose figures papers compare, and the digits' sizes (at
# most a few hundred images) leave nothing to be gained from a faster one.
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from zoo.registry import METRICS

STATS = ("box_AP", "box_AP50", "box_AP75", "box_AP_small", "box_AP_medium", "box_AP_large")
logger = logging.getLogger(__name__)


@METRICS.register_module()
class CocoBoxAP(BaseMetric):  # type: ignore[misc]  # mmengine is untyped
    """Box AP over IoU 0.50:0.05:0.95, in points 0..100 (101-point interpolation, at most 100 detections an image).

    `process(items, results)`: items of a detection data set with "image_id", "image", "boxes" float32 [n, 4] x1 y1 x2
    y2, "labels" int64 [n] and optionally "areas" [n] and "iscrowd" [n]; results with `boxes`, `scores` and `labels`, as
    attributes or keys (a DetectionResult). Both: boxes in the original image's pixels, labels the model's own ids.
    `evaluate(size)` gives "coco/box_AP" and so on; a figure that has nothing to judge (no objects of that size) is NaN.
    """

    default_prefix = "coco"

    def process(self, data_batch: Sequence[Mapping[str, Any]], data_samples: Sequence[Any]) -> None:
        """Keeps one batch: items of the data set, and the model's results for them, in the same order."""
        for item, result in zip(data_batch, data_samples, strict=True):
            truth = {key: np.asarray(item[key]) for key in ("boxes", "labels")}
            boxes = truth["boxes"].reshape(-1, 4)
            truth["areas"] = np.asarray(item.get("areas", (boxes[:, 2:] - boxes[:, :2]).prod(axis=1)))
            truth["iscrowd"] = np.asarray(item.get("iscrowd", np.zeros(len(boxes), np.int64)))
            found = {key: np.asarray(_get(result, key)) for key in ("boxes", "scores", "labels")}
            self.results.append((int(item["image_id"]), truth, found))

    def compute_metrics(self, results: list[tuple[int, dict[str, Any], dict[str, Any]]]) -> dict[str, float]:
        """All kept batches -> {"box_AP": points, "box_AP50": ...}."""
        annotations: list[dict[str, Any]] = []
        detections: list[dict[str, Any]] = []
        for image_id, truth, found in results:
            for box, label, area, crowd in zip(
                truth["boxes"], truth["labels"], truth["areas"], truth["iscrowd"], strict=True
            ):
                annotations.append(
                    _record(image_id, box, label)
                    | {"id": len(annotations) + 1, "area": float(area)}
                    | {"iscrowd": int(crowd)}
                )
            for box, label, score in zip(found["boxes"], found["labels"], found["scores"], strict=True):
                detections.append(_record(image_id, box, label) | {"score": float(score)})
        if not annotations or not detections:
            return dict.fromkeys(STATS, 0.0 if annotations else float("nan"))
        labels = sorted({record["category_id"] for record in (*annotations, *detections)})
        output = io.StringIO()  # pycocotools prints; libraries here log
        with contextlib.redirect_stdout(output):
            truth_set = COCO()
            truth_set.dataset = {
                "info": {},
                "images": [{"id": image_id} for image_id, _, _ in results],
                "annotations": annotations,
                "categories": [{"id": label} for label in labels],
            }
            truth_set.createIndex()
            evaluation = COCOeval(truth_set, truth_set.loadRes(detections), "bbox")
            evaluation.evaluate()
            evaluation.accumulate()
            evaluation.summarize()
        logger.debug("%s", output.getvalue())
        points = [100 * float(value) if value >= 0 else float("nan") for value in evaluation.stats[: len(STATS)]]
        return dict(zip(STATS, points, strict=True))


def _record(image_id: int, box: Any, label: Any) -> dict[str, Any]:
    """The fields that annotations and detections of COCO share; the box becomes x y w h."""
    x1, y1, x2, y2 = (float(edge) for edge in box)
    return {"image_id": image_id, "category_id": int(label), "bbox": [x1, y1, x2 - x1, y2 - y1]}


def _get(result: Any, name: str) -> Any:
    """A field of a result that is a mapping or has attributes."""
    return result[name] if isinstance(result, Mapping) else getattr(result, name)
