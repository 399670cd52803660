"""Box AP on cases that can be worked out by hand."""

from typing import Any

import numpy as np
import pytest

from zoo.registry import METRICS
from zoo.tasks.detection import DetectionResult

SQUARE = [10.0, 10.0, 110.0, 110.0]


def item(image_id: int, boxes: list[list[float]], labels: list[int]) -> dict[str, Any]:
    return {
        "image_id": image_id,
        "boxes": np.asarray(boxes, np.float32).reshape(-1, 4),
        "labels": np.asarray(labels, np.int64),
    }


def result(boxes: list[list[float]], scores: list[float], labels: list[int]) -> DetectionResult:
    return DetectionResult(
        np.asarray(boxes, np.float32).reshape(-1, 4), np.asarray(scores, np.float32), np.asarray(labels, np.int64)
    )


def figures(items: list[dict[str, Any]], results: list[Any]) -> dict[str, float]:
    metric = METRICS.build({"type": "CocoBoxAP"})
    for one, found in zip(items, results, strict=True):
        metric.process([one], [found])
    points: dict[str, float] = metric.evaluate(len(items))
    return points


def test_perfect_detections_score_100() -> None:
    items = [item(0, [SQUARE, [200, 10, 260, 90]], [1, 2]), item(5, [SQUARE], [2])]
    results = [result(one["boxes"].tolist(), [0.9] * len(one["labels"]), one["labels"].tolist()) for one in items]
    points = figures(items, results)
    assert points["coco/box_AP"] == pytest.approx(100)
    assert points["coco/box_AP75"] == pytest.approx(100)


def test_a_known_iou_counts_at_the_thresholds_below_it() -> None:
    # 100x100 against 100x72 inside it: IoU 0.72, so right at 0.50, 0.55, 0.60, 0.65, 0.70 and wrong at five more.
    points = figures([item(0, [SQUARE], [1])], [result([[10, 10, 110, 82]], [0.9], [1])])
    assert points["coco/box_AP"] == pytest.approx(50)
    assert points["coco/box_AP50"] == pytest.approx(100)
    assert points["coco/box_AP75"] == pytest.approx(0)


def test_a_false_alarm_counts_only_when_it_scores_higher() -> None:
    false = [300.0, 300.0, 350.0, 350.0]
    above = figures([item(0, [SQUARE], [1])], [result([SQUARE, false], [0.5, 0.9], [1, 1])])
    below = figures([item(0, [SQUARE], [1])], [result([SQUARE, false], [0.9, 0.5], [1, 1])])
    assert above["coco/box_AP"] == pytest.approx(50)
    assert below["coco/box_AP"] == pytest.approx(100)


@pytest.mark.parametrize("broken", [np.nan, np.inf])
def test_a_box_that_is_not_finite_is_never_right(broken: float) -> None:
    wrong = [broken, 10.0, 110.0, 110.0]
    assert figures([item(0, [SQUARE], [1])], [result([wrong], [0.9], [1])])["coco/box_AP"] == 0
    assert figures([item(0, [SQUARE], [1])], [result([wrong, SQUARE], [0.9, 0.5], [1, 1])])[
        "coco/box_AP"
    ] == pytest.approx(50)


def test_the_wrong_class_and_nothing_at_all_score_0() -> None:
    assert figures([item(0, [SQUARE], [1])], [result([SQUARE], [0.9], [2])])["coco/box_AP"] == 0
    assert figures([item(0, [SQUARE], [1])], [result([], [], [])])["coco/box_AP"] == 0


def test_no_objects_is_no_figure() -> None:
    assert np.isnan(figures([item(0, [], [])], [result([], [], [])])["coco/box_AP"])


def test_areas_decide_small_and_large() -> None:
    small = item(0, [SQUARE], [1]) | {"areas": np.asarray([500.0])}
    points = figures([small], [result([SQUARE], [0.9], [1])])
    assert points["coco/box_AP_small"] == pytest.approx(100)
    assert np.isnan(points["coco/box_AP_large"])


def test_it_does_not_print(capsys: pytest.CaptureFixture[str]) -> None:
    figures([item(0, [SQUARE], [1])], [{"boxes": np.asarray([SQUARE]), "scores": [0.5], "labels": [1]}])
    assert capsys.readouterr().out == ""
