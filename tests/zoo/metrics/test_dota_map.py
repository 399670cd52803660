"""DotaMAP against a slow and plain second implementation, whose overlaps are exact fractions."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.zoo.geometry.exact_clipping import exact_iou
from zoo.errors import InputError
from zoo.metrics import DotaMAP
from zoo.tasks.rotated_detection import RotatedDetectionResult

CLASSES = 2
Images = Sequence[tuple[dict[str, Any], RotatedDetectionResult]]


def plain_map(images: Images, iou: float, form: str) -> float:
    """As the devkit does it: one class after the other, one detection after the other."""
    points = [_plain_ap(images, label, iou, form) for label in range(CLASSES)]
    judged = [value for value in points if value is not None]
    return 100 * sum(judged) / len(judged) if judged else math.nan


def _plain_ap(images: Images, label: int, iou: float, form: str) -> float | None:
    total = sum(int(((item["labels"] == label) & ~item["difficult"]).sum()) for item, _ in images)
    if total == 0:
        return None
    detections = [
        (float(score), number, box)
        for number, (_, result) in enumerate(images)
        for box, score, of_class in zip(result.boxes, result.scores, result.labels.tolist(), strict=True)
        if of_class == label
    ]
    detections.sort(key=lambda entry: (-entry[0], entry[1]))
    taken = [[False] * len(item["labels"]) for item, _ in images]
    right, wrong, recalls, precisions = 0, 0, [], []
    for _, number, box in detections:
        item = images[number][0]
        best, place = 0.0, -1
        for index, (truth, of_class) in enumerate(zip(item["rotated_boxes"], item["labels"].tolist(), strict=True)):
            if of_class == label and (overlap := exact_iou(box, truth)) > best:
                best, place = overlap, index
        if best >= iou and item["difficult"][place]:
            continue
        if best >= iou and not taken[number][place]:
            taken[number][place] = True
            right += 1
        else:
            wrong += 1
        recalls.append(right / total)
        precisions.append(right / (right + wrong))
    if form == "11-point":
        levels = [step / 10 for step in range(11)]
        reached = [[p for r, p in zip(recalls, precisions, strict=True) if r >= level] for level in levels]
        return sum(max(values, default=0.0) for values in reached) / len(levels)
    area, before = 0.0, 0.0
    for index, recall in enumerate(recalls):
        area += (recall - before) * max(precisions[index:])
        before = recall
    return area


def random_images(seed: int) -> Images:
    """A few images whose detections are near some of the truth, twice or not at all, and with equal scores."""
    rng = np.random.default_rng(seed)
    images = []
    for _ in range(rng.integers(1, 5)):
        count = rng.integers(0, 5)
        truth = np.c_[rng.uniform(0, 60, (count, 2)), rng.uniform(6, 30, (count, 2)), rng.uniform(-3, 3, count)]
        near = [truth + rng.normal(0, 1, truth.shape) * [1.5, 1.5, 1, 1, 0.1] for _ in range(2)]
        far = np.c_[rng.uniform(0, 60, (2, 2)), rng.uniform(6, 30, (2, 2)), rng.uniform(-3, 3, 2)]
        boxes = np.concatenate([*near, far])
        boxes[:, 2:4] = np.maximum(boxes[:, 2:4], 2)
        boxes = boxes[rng.permutation(len(boxes))[: rng.integers(0, len(boxes) + 1)]].astype(np.float32)
        labels, of_found = rng.integers(0, CLASSES, count), rng.integers(0, CLASSES, len(boxes))
        scores = np.sort(rng.integers(1, 8, len(boxes)) / 8)[::-1].astype(np.float32)
        item = {"rotated_boxes": truth.astype(np.float32), "labels": labels, "difficult": rng.random(count) < 0.2}
        images.append((item, RotatedDetectionResult(boxes, scores, of_found)))
    return images


def measured(images: Images, **options: Any) -> float:
    metric = DotaMAP(**options)
    metric.process([item for item, _ in images], [result for _, result in images])
    return float(metric.evaluate(len(images))["dota/mAP"])


@examples(15, 150)
@given(seed=st.integers(0, 10_000), iou=st.sampled_from([0.3, 0.5, 0.75]), form=st.sampled_from(["11-point", "area"]))
def test_it_is_what_the_plain_one_gives(seed: int, iou: float, form: str) -> None:
    images = random_images(seed)
    assert measured(images, iou=iou, form=form) == pytest.approx(plain_map(images, iou, form), abs=1e-6, nan_ok=True)


def test_the_same_rectangles_in_other_numbers_are_right() -> None:
    truth = np.array([[20, 20, 30, 10, 0.3], [60, 30, 12, 8, -1.0]], np.float32)
    other = np.c_[truth[:, :2], truth[:, 3], truth[:, 2], truth[:, 4] + np.pi / 2].astype(np.float32)
    item = {"rotated_boxes": truth, "labels": np.array([0, 1])}
    result = RotatedDetectionResult(other, np.array([0.9, 0.8]), np.array([0, 1]))
    assert measured([(item, result)]) == pytest.approx(100)
    wrong = RotatedDetectionResult(truth + np.array([0, 0, 0, 0, 1], np.float32), result.scores, result.labels)
    assert measured([(item, wrong)]) < 100


def test_the_form_is_that_of_the_devkit() -> None:
    truth = np.array([[20, 20, 30, 10, 0.3], [60, 30, 12, 8, -1.0]], np.float32)
    item = {"rotated_boxes": truth, "labels": np.array([0, 0])}
    half = [(item, RotatedDetectionResult(truth[:1], np.array([0.9]), np.array([0])))]
    assert measured(half) == pytest.approx(100 * 6 / 11)  # recalls 0, 0.1 ... 0.5
    assert measured(half, form="area") == pytest.approx(50)


def test_wrong_options() -> None:
    with pytest.raises(InputError, match="DotaMAP: got iou 0"):
        DotaMAP(iou=0)
    with pytest.raises(InputError, match='DotaMAP: unknown form "11"'):
        DotaMAP(form="11")
