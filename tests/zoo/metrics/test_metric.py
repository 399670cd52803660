"""What all metrics share."""

from typing import Any

import numpy as np
import pytest

from tests.zoo.metrics.scenes import detection_scenes, processed
from zoo.errors import InputError
from zoo.metrics import CocoBoxAP, CocoKeypointAP, CocoMaskAP, ImageQuality, MeanIoU, Metric, VOCmAP
from zoo.registry import METRICS
from zoo.tasks.detection import DetectionResult

ALL = {
    "coco/box_AP": CocoBoxAP(),
    "coco/mask_AP": CocoMaskAP(),
    "coco/keypoint_AP": CocoKeypointAP(),
    "voc/mAP": VOCmAP(),
    "segmentation/mIoU": MeanIoU(num_classes=3),
    "restoration/PSNR": ImageQuality(),
}


@pytest.mark.parametrize(("key", "metric"), ALL.items())
def test_each_names_its_main_figure_and_its_unit(key: str, metric: Metric) -> None:
    assert metric.main_key == key
    assert metric.unit == ("dB" if key == "restoration/PSNR" else "points")
    assert METRICS.get(type(metric).__name__) is type(metric)


@pytest.mark.filterwarnings("ignore:.*got empty.*")
@pytest.mark.parametrize(("key", "metric"), ALL.items())
def test_an_empty_data_set_has_no_figures(key: str, metric: Metric) -> None:
    figures = metric.evaluate(0)
    assert key in figures
    assert all(np.isnan(value) for value in figures.values())
    assert np.isnan(metric.resampled([], np.ones((4, 0), np.int64))).tolist() == [True] * 4


def test_a_prefix_of_ones_own() -> None:
    assert CocoBoxAP(prefix="val").main_key == "val/box_AP"


def test_one_entry_for_each_image_is_kept_for_resampling() -> None:
    metric = VOCmAP()
    pairs = detection_scenes(np.random.default_rng(0), 5)
    metric.process(*map(list, zip(*pairs[:3], strict=True)))
    metric.process(*map(list, zip(*pairs[3:], strict=True)))
    assert len(metric.results) == 5
    entries = list(metric.results)
    figures = metric.evaluate(5)
    assert metric.per_image == entries
    assert figures["voc/mAP"] == pytest.approx(metric.resampled(entries, np.ones((1, 5), np.int64))[0])


def test_what_is_not_of_the_data_set_is_dropped() -> None:
    # mmengine's samplers fill the last batches of several processes up with images that were seen already
    pairs = detection_scenes(np.random.default_rng(0), 3)
    metric = VOCmAP()
    metric.process(*map(list, zip(*pairs, pairs[0], strict=True)))
    figures = metric.evaluate(3)
    assert len(metric.per_image) == 3
    assert figures == processed(VOCmAP(), pairs)


@pytest.mark.parametrize(
    ("item", "result", "words"),
    [
        ({}, DetectionResult(np.zeros((0, 4)), np.zeros(0), np.zeros(0)), 'needs "masks", got a DetectionResult'),
        ({}, {"labels": [], "scores": []}, 'needs "masks", got "labels", "scores"; '),
        ({"masks": None}, {"labels": [], "scores": [], "masks": []}, 'needs "masks", got "boxes", "image"'),
    ],
)
def test_a_metric_of_another_task_is_refused(item: dict[str, Any], result: Any, words: str) -> None:
    truth = {"image": np.zeros((4, 4, 3), np.uint8), "image_id": 0, "labels": [], "boxes": [], "masks": []}
    truth = {key: value for key, value in truth.items() if key not in item}
    with pytest.raises(InputError, match=f"CocoMaskAP {words}"):
        CocoMaskAP().process([truth], [result])
