"""Mean IoU by hand, and against a plain reference on random maps."""

import numpy as np
import pytest
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.metrics import MeanIoU
from zoo.structures import SegmentationResult


def points(pairs: list[tuple[NDArray[np.uint8], NDArray[np.uint8]]], num_classes: int) -> dict[str, float]:
    metric = MeanIoU(num_classes)
    for truth, found in pairs:
        metric.process([{"label_map": truth}], [SegmentationResult(found)])
    figures: dict[str, float] = metric.evaluate(len(pairs))
    return figures


def reference(pairs: list[tuple[NDArray[np.uint8], NDArray[np.uint8]]], num_classes: int) -> float:
    """Class by class, with boolean masks."""
    truth = np.concatenate([pair[0].ravel() for pair in pairs])
    found = np.concatenate([pair[1].ravel() for pair in pairs])
    found, truth = found[truth != 255], truth[truth != 255]
    ious = []
    for label in range(num_classes):
        union = ((truth == label) | (found == label)).sum()
        if union:
            ious.append(((truth == label) & (found == label)).sum() / union)
    return 100 * float(np.mean(ious))


def test_perfect_is_100() -> None:
    truth = np.asarray([[0, 1], [2, 255]], np.uint8)
    found = np.asarray([[0, 1], [2, 0]], np.uint8)
    assert points([(truth, found)], 3) == {"segmentation/mIoU": 100, "segmentation/pixel_accuracy": 100}


def test_by_hand() -> None:
    truth = np.asarray([[0, 0, 1, 1]], np.uint8)
    found = np.asarray([[0, 1, 1, 1]], np.uint8)
    figures = points([(truth, found)], 2)
    assert figures["segmentation/mIoU"] == pytest.approx(100 * (1 / 2 + 2 / 3) / 2)
    assert figures["segmentation/pixel_accuracy"] == pytest.approx(75)


def test_pixels_are_pooled_over_images_not_averaged() -> None:
    right = (np.zeros((1, 9), np.uint8), np.zeros((1, 9), np.uint8))
    wrong = (np.zeros((1, 1), np.uint8), np.ones((1, 1), np.uint8))
    assert points([right, wrong], 2)["segmentation/mIoU"] == pytest.approx(100 * (9 / 10 + 0) / 2)


@pytest.mark.parametrize("seed", range(5))
def test_against_the_reference(seed: int) -> None:
    rng = np.random.default_rng(seed)
    num_classes = int(rng.integers(2, 12))
    pairs = []
    for _ in range(4):
        shape = tuple(rng.integers(1, 40, 2))
        truth = rng.integers(0, num_classes, shape).astype(np.uint8)
        found = np.where(rng.random(shape) < 0.6, truth, rng.integers(0, num_classes, shape)).astype(np.uint8)
        truth[rng.random(shape) < 0.1] = 255
        pairs.append((truth, found))
    assert points(pairs, num_classes)["segmentation/mIoU"] == pytest.approx(reference(pairs, num_classes))


def test_a_map_of_another_size_is_refused() -> None:
    with pytest.raises(InputError, match=r"got \(2, 3\), expected the image's \(3, 2\)"):
        points([(np.zeros((3, 2), np.uint8), np.zeros((2, 3), np.uint8))], 2)


def test_a_label_out_of_range_is_refused() -> None:
    with pytest.raises(InputError, match=r"of the result: got labels 0 to 7, expected 0 to 1"):
        points([(np.zeros((1, 2), np.uint8), np.asarray([[0, 7]], np.uint8))], 2)
