"""The AP that pycocotools finds in results' COCO form is the metric's own, for boxes, masks and keypoints."""

import contextlib
import io
import json
from typing import Any

import numpy as np
import pytest
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval

from zoo.metrics import CocoBoxAP, CocoKeypointAP, CocoMaskAP
from zoo.metrics.coco_ap import CocoAP, xywh
from zoo.preprocess import Preprocess
from zoo.tasks import build_task
from zoo.tasks.run_lengths import run_lengths

SIZE = (120, 160)
IMAGES, OBJECTS, POINTS = 12, 6, 4
CLASSES = [{"name": f"c{number}", "category_id": number} for number in range(3)]
METRICS: dict[str, CocoAP] = {
    "Detection": CocoBoxAP(),
    "InstanceSegmentation": CocoMaskAP(),
    "KeypointDetection": CocoKeypointAP(sigmas=[0.1] * POINTS),
}


def outputs(chance: np.random.Generator) -> dict[str, Any]:
    """What a graph might give for one image."""
    corners = chance.uniform(0, 80, (1, OBJECTS, 2))
    boxes = np.concatenate([corners, corners + chance.uniform(20, 75, (1, OBJECTS, 2))], axis=2).astype(np.float32)
    inside = chance.uniform(0, 1, (1, OBJECTS, POINTS, 2)) * (boxes[..., 2:] - boxes[..., :2])[:, :, None]
    points = np.concatenate([boxes[..., :2][:, :, None] + inside, np.full((1, OBJECTS, POINTS, 1), 2)], axis=3)
    return {
        "num_dets": np.array([OBJECTS]),
        "boxes": boxes,
        "scores": np.sort(chance.random((1, OBJECTS)))[:, ::-1].astype(np.float32),
        "labels": chance.integers(0, len(CLASSES), (1, OBJECTS)),
        "masks": chance.random((1, OBJECTS, 28, 28)).astype(np.float32) ** 0.5,
        "keypoints": points.astype(np.float32),
    }


def moved(found: dict[str, Any], chance: np.random.Generator) -> dict[str, Any]:
    """The same a little elsewhere: the truth."""
    shift = chance.normal(0, 2, (1, OBJECTS, 2)).astype(np.float32)
    boxes = found["boxes"] + np.tile(shift, 2)
    keypoints = found["keypoints"].copy()
    keypoints[..., :2] += shift[:, :, None]
    return found | {"boxes": np.clip(boxes, 0, 160), "keypoints": keypoints}


def item_of(truth: Any, number: int) -> dict[str, Any]:
    """An item of a data set, whose truth is a result."""
    sides = truth.boxes[:, 2:] - truth.boxes[:, :2]
    item = {"image_id": number, "image": np.zeros((*SIZE, 3), np.uint8), "labels": truth.labels, "boxes": truth.boxes}
    item["areas"] = sides.astype(np.float64).prod(axis=1)
    if hasattr(truth, "masks"):
        item["masks"] = truth.image_masks(*SIZE)
    if hasattr(truth, "keypoints"):
        item["keypoints"] = truth.keypoints
    return item


def annotations_of(item: dict[str, Any]) -> list[dict[str, Any]]:
    """The same as COCO writes it."""
    annotations = []
    for place, label in enumerate(item["labels"].tolist()):
        annotation = {"image_id": item["image_id"], "category_id": label, "iscrowd": 0, "area": item["areas"][place]}
        annotation["bbox"] = xywh(item["boxes"])[place]
        if "masks" in item:
            annotation["segmentation"] = run_lengths(item["masks"][place])
        if "keypoints" in item:
            annotation |= {"keypoints": item["keypoints"][place].ravel().tolist(), "num_keypoints": POINTS}
        annotations.append(annotation)
    return annotations


def evaluated(annotations: list[dict[str, Any]], results: list[dict[str, Any]], metric: CocoAP) -> list[float]:
    """AP, AP50 and AP75 in points, by pycocotools alone."""
    with contextlib.redirect_stdout(io.StringIO()):
        gold = COCO()
        gold.dataset = {
            "images": [{"id": number, "height": SIZE[0], "width": SIZE[1]} for number in range(IMAGES)],
            "annotations": [each | {"id": number} for number, each in enumerate(annotations, 1)],
            "categories": [{"id": number} for number in range(len(CLASSES))],
        }
        gold.createIndex()
        evaluation = COCOeval(gold, gold.loadRes(results), metric.shape)
        if isinstance(metric, CocoKeypointAP):
            evaluation.params.kpt_oks_sigmas = metric.sigmas
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return [100 * float(value) for value in evaluation.stats[:3]]


@pytest.mark.parametrize("name", METRICS)
def test_the_ap_is_the_same(name: str) -> None:
    chance, metric = np.random.default_rng(0), METRICS[name]
    task, geometry = build_task({"type": name, "classes": CLASSES}), Preprocess(SIZE).geometry(*SIZE)
    annotations: list[dict[str, Any]] = []
    results: list[dict[str, Any]] = []
    for number in range(IMAGES):
        found = outputs(chance)
        (result,) = task.results(found, [geometry])
        (truth,) = task.results(moved(found, chance), [geometry])
        item = item_of(truth, number)
        metric.process([item], [result])
        annotations += annotations_of(item)
        results += json.loads(json.dumps(result.to_coco(number)))
    figures = metric.evaluate(IMAGES)
    expected = [figures[f"coco/{each}"] for each in metric.stats[:3]]
    assert 5 < expected[0] < 99
    assert evaluated(annotations, results, metric) == pytest.approx(expected, abs=1e-9)
