"""Mean IoU by hand, and against scikit-learn on random maps."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score, jaccard_score, recall_score

from tests.examples import examples
from tests.zoo.metrics.scenes import draws, processed, repeated
from zoo.errors import InputError
from zoo.metrics import MeanIoU
from zoo.tasks.semantic_segmentation import SegmentationResult


def points(pairs: list[tuple[NDArray[np.uint8], ...]], num_classes: int) -> dict[str, float]:
    return points_of(MeanIoU(num_classes), pairs)


def points_of(metric: MeanIoU, pairs: list[tuple[NDArray[np.uint8], ...]]) -> dict[str, float]:
    return processed(metric, [({"label_map": truth}, SegmentationResult(found)) for truth, found in pairs])


def random_maps(rng: np.random.Generator, images: int, num_classes: int) -> list[tuple[NDArray[np.uint8], ...]]:
    """Truth with ignored pixels, and classes that are in one of the two maps alone, or in neither."""
    pairs = []
    for _ in range(images):
        shape = tuple(rng.integers(1, 40, 2))
        truth, other = (rng.choice(num_classes, 3)[rng.integers(0, 3, shape)] for _ in range(2))
        found = np.where(rng.random(shape) < 0.6, truth, other)
        truth[rng.random(shape) < 0.1] = 255
        pairs.append((truth.astype(np.uint8), found.astype(np.uint8)))
    return pairs


def test_perfect_is_100() -> None:
    truth = np.asarray([[0, 1], [2, 255]], np.uint8)
    found = np.asarray([[0, 1], [2, 0]], np.uint8)
    assert points([(truth, found)], 3) == {"segmentation/mIoU": 100, "segmentation/mAcc": 100, "segmentation/aAcc": 100}


def test_by_hand() -> None:
    truth = np.asarray([[0, 0, 1, 1]], np.uint8)
    found = np.asarray([[0, 1, 1, 1]], np.uint8)
    figures = points([(truth, found)], 2)
    assert figures["segmentation/mIoU"] == pytest.approx(100 * (1 / 2 + 2 / 3) / 2)
    assert figures["segmentation/aAcc"] == pytest.approx(75)


def test_pixels_are_pooled_over_images_not_averaged() -> None:
    right = (np.zeros((1, 9), np.uint8), np.zeros((1, 9), np.uint8))
    wrong = (np.zeros((1, 1), np.uint8), np.ones((1, 1), np.uint8))
    assert points([right, wrong], 2)["segmentation/mIoU"] == pytest.approx(100 * (9 / 10 + 0) / 2)


@given(seed=st.integers(0, 2**32 - 1), num_classes=st.integers(2, 40))
@examples(12, 30)
def test_against_scikit_learn(seed: int, num_classes: int) -> None:
    pairs = random_maps(np.random.default_rng(seed), 4, num_classes)
    truth, found = (np.concatenate([pair[side].ravel() for pair in pairs]) for side in (0, 1))
    truth, found = truth[truth != 255], found[truth != 255]
    figures = points(pairs, num_classes)
    if not len(truth):
        assert np.isnan(list(figures.values())).all()
        return
    present = np.unique(np.concatenate([truth, found]))
    ious = jaccard_score(truth, found, labels=present, average=None, zero_division=0)
    recalls = recall_score(truth, found, labels=np.unique(truth), average=None)
    assert figures["segmentation/mIoU"] == pytest.approx(100 * ious.mean())
    assert figures["segmentation/mAcc"] == pytest.approx(100 * recalls.mean())
    assert figures["segmentation/aAcc"] == pytest.approx(100 * accuracy_score(truth, found))


def test_nothing_to_judge_is_no_figure() -> None:
    figures = points([(np.full((2, 2), 255, np.uint8), np.zeros((2, 2), np.uint8))], 3)
    assert list(figures) == ["segmentation/mIoU", "segmentation/mAcc", "segmentation/aAcc"]
    assert np.isnan(list(figures.values())).all()


@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=20, deadline=None)
def test_resampled_is_the_figure_of_repeated_images(seed: int) -> None:
    rng = np.random.default_rng(seed)
    metric = MeanIoU(12)
    points_of(metric, random_maps(rng, 5, 12))
    counts = draws(rng, 5, 8)
    expected = repeated(metric, metric.per_image, counts)
    np.testing.assert_allclose(metric.resampled(metric.per_image, counts), expected, rtol=1e-12)


def test_a_map_of_another_size_is_refused() -> None:
    with pytest.raises(InputError, match=r"got \(2, 3\), expected the image's \(3, 2\)"):
        points([(np.zeros((3, 2), np.uint8), np.zeros((2, 3), np.uint8))], 2)


def test_a_label_out_of_range_is_refused() -> None:
    with pytest.raises(InputError, match=r"of the result: got labels 0 to 7, expected 0 to 1"):
        points([(np.zeros((1, 2), np.uint8), np.asarray([[0, 7]], np.uint8))], 2)
