"""Pasted masks against torchvision's own, which pastes probabilities: the same pixels but for rounding at 0.5."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torchvision.models.detection.roi_heads import paste_masks_in_image

from tests.examples import examples
from zoo.errors import InputError
from zoo.tasks.instance_segmentation import InstanceSegmentationResult
from zoo.tasks.instance_segmentation.mask_pasting import paste_masks

ROUNDING = 1e-5  # a probability this near to the threshold may fall on either side


def blobs(rng: np.random.Generator, count: int) -> np.ndarray:
    """Probabilities [n, 28, 28]: smooth ones, noise, and masks of zeros and ones."""
    grid = np.linspace(-1, 1, 28)
    x0, y0, size = rng.uniform(-0.5, 0.5, count), rng.uniform(-0.5, 0.5, count), rng.uniform(0.1, 2, count)
    far = (grid[None, :, None] - y0[:, None, None]) ** 2 + (grid[None, None] - x0[:, None, None]) ** 2
    smooth = np.exp(-far / size[:, None, None])
    noise = rng.random((count, 28, 28))
    kind = rng.integers(0, 3, count)[:, None, None]
    return np.select([kind == 0, kind == 1], [smooth, noise], (noise > 0.5) * 1.0).astype(np.float32)


def boxes_in(rng: np.random.Generator, count: int, height: int, width: int) -> np.ndarray:
    """Boxes of every size, thin and empty ones, some past the edges; torchvision fails for one wholly outside."""
    low = rng.uniform(-0.2, 0.95, (count, 2)) * (width, height)
    sides = rng.choice([0.0, 0.5, 3.0, 40.0, 250.0], (count, 2)) * rng.uniform(0.5, 1.2, (count, 2))
    return np.concatenate([low, np.maximum(low + sides, 2.0)], axis=1).astype(np.float32)


def by_torchvision(masks: np.ndarray, boxes: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    pasted = paste_masks_in_image(torch.from_numpy(masks)[:, None], torch.from_numpy(boxes), size)
    return pasted[:, 0].numpy()


@examples(37, 150)
@given(height=st.integers(32, 300), width=st.integers(32, 300), count=st.integers(0, 8), seed=st.integers(0, 2**31 - 1))
def test_pasted_as_torchvision_pastes(height: int, width: int, count: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    masks, boxes = blobs(rng, count), boxes_in(rng, count, height, width)
    ours = paste_masks(masks, boxes, (height, width))
    theirs = by_torchvision(masks, boxes, (height, width))
    assert ours.shape == theirs.shape
    assert (np.abs(theirs[ours != (theirs >= 0.5)] - 0.5) < ROUNDING).all()


@pytest.mark.parametrize(
    "box",
    [
        (10.0, 20.0, 51.3, 62.7),
        (-20.5, -9.5, 30.0, 30.0),
        (80.0, 50.0, 140.0, 90.0),
        (5.0, 5.0, 5.0, 5.0),
    ],
)
def test_the_same_pixels_where_no_probability_lies_at_the_threshold(box: tuple[float, ...]) -> None:
    masks = blobs(np.random.default_rng(3), 1)
    boxes = np.array([box], np.float32)
    np.testing.assert_array_equal(paste_masks(masks, boxes, (64, 96)), by_torchvision(masks, boxes, (64, 96)) >= 0.5)


def test_a_box_outside_the_image_leaves_nothing() -> None:
    """Where torchvision's own function fails."""
    boxes = np.array([[200, 200, 260, 260], [-90, 10, -20, 40]], np.float32)
    assert not paste_masks(np.ones((2, 28, 28), np.float32), boxes, (64, 96)).any()


def test_a_full_mask_fills_its_box_and_no_more() -> None:
    pasted = paste_masks(np.ones((1, 28, 28), np.float32), np.array([[10, 20, 38, 48]], np.float32), (64, 96))
    rows, columns = np.nonzero(pasted[0])
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (20, 48, 10, 38)


def test_a_result_gives_masks_of_its_image() -> None:
    rng = np.random.default_rng(0)
    masks, boxes = blobs(rng, 3), boxes_in(rng, 3, 60, 90)
    result = InstanceSegmentationResult(boxes, np.array([0.9, 0.5, 0.2]), np.array([1, 2, 1]), masks)
    pasted = result.image_masks(60, 90)
    assert pasted.dtype == np.bool_
    np.testing.assert_array_equal(pasted, paste_masks(masks, boxes, (60, 90)))
    np.testing.assert_array_equal(result[1:].image_masks(60, 90), pasted[1:])
    assert result[:0].image_masks(60, 90).shape == (0, 60, 90)


def test_masks_of_another_shape_are_refused() -> None:
    with pytest.raises(InputError, match=r"got masks \[1, 14, 14\], expected \[1, 28, 28\]"):
        InstanceSegmentationResult(np.zeros((1, 4)), np.zeros(1), np.zeros(1), np.zeros((1, 14, 14)))
