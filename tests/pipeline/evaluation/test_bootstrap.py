"""The interval of a difference: right where it can be worked out, and as wide as the statistics say."""

import numpy as np
import pytest

from pipeline.evaluation.bootstrap import PairedBootstrap, draws
from zoo.metrics import MeanIoU
from zoo.tasks.semantic_segmentation import SegmentationResult


def entries(metric: MeanIoU, right: list[int], pixels: int = 100) -> list[object]:
    """Entries of images of which so many pixels are right, of two classes in turn."""
    metric.results = []
    for count in right:
        truth = np.arange(pixels, dtype=np.uint8).reshape(1, -1) % 2
        found = np.where(np.arange(pixels) < count, truth, 1 - truth).astype(np.uint8)
        metric.process([{"label_map": truth}], [SegmentationResult(found)])
    return list(metric.results)


def test_equal_models_do_not_differ() -> None:
    metric = MeanIoU(2)
    same = entries(metric, [10, 50, 90, 30])
    assert PairedBootstrap(metric, same).interval(same) == (0.0, 0.0)


def test_images_that_are_hard_for_both_do_not_widen_it() -> None:
    metric = MeanIoU(2)
    rng = np.random.default_rng(0)
    right = rng.integers(10, 98, 60).tolist()
    low, high = PairedBootstrap(metric, entries(metric, right)).interval(
        entries(metric, [count - 2 for count in right])
    )
    assert low < high < 0, "two pixels of each image are wrong: worse for certain"
    other = rng.permutation(right).tolist()
    wide = PairedBootstrap(metric, entries(metric, right)).interval(entries(metric, [count - 2 for count in other]))
    assert wide[1] - wide[0] > 10 * (high - low)


def test_it_is_as_wide_as_theory_says() -> None:
    """Of images of equal size and two even classes, a small change of the pixel accuracy is linear in mIoU."""
    metric = MeanIoU(2)
    rng = np.random.default_rng(1)
    lost = rng.integers(0, 5, 200)
    reference, candidate = entries(metric, [90] * 200), entries(metric, (90 - lost).tolist())
    low, high = PairedBootstrap(metric, reference).interval(candidate)
    slope = 2 / (2 - 0.9) ** 2  # of IoU = a / (2 - a)
    assert high - low == pytest.approx(2 * 1.96 * slope * lost.std() / np.sqrt(200), rel=0.15)
    point = metric.figures(candidate)["mIoU"] - metric.figures(reference)["mIoU"]
    assert low < point < high


def test_draws_are_the_same_on_every_run_and_count_every_image() -> None:
    counts = draws(37)
    assert (counts.sum(axis=1) == 37).all()
    assert counts.mean() == pytest.approx(1)
    assert np.array_equal(counts, draws(37))
