"""The digits in turned images: boxes lie where the strokes are, samples are those of the seed."""

import math

import cv2
import numpy as np
import pytest

from zoo.datasets import DigitsInstances, RotatedDigits
from zoo.datasets.digits.rotated import angle_of
from zoo.datasets.digits.turning import boxes_of_masks, turned_boxes, turned_image, turned_size
from zoo.geometry.rotated import rotated_corners
from zoo.geometry.rotated_boxes import is_in_convention


def stroke() -> np.ndarray:
    mask = np.zeros((60, 90), np.uint8)
    cv2.line(mask, (20, 40), (60, 15), 1, 7)
    return mask


def test_the_smallest_box_holds_every_pixel_and_is_tight() -> None:
    mask = stroke()
    (box,) = boxes_of_masks([mask])
    center, angle = box[:2], box[4]
    y, x = np.nonzero(mask)
    edges = np.concatenate([np.stack((x, y), 1) + step for step in ((0, 0), (1, 0), (0, 1), (1, 1))]) - center
    along = edges @ [math.cos(angle), math.sin(angle)]
    across = edges @ [-math.sin(angle), math.cos(angle)]
    for values, side in ((along, box[2]), (across, box[3])):
        assert abs(values).max() <= side / 2 + 1e-3
        assert values.max() - values.min() == pytest.approx(side, abs=1e-3)
    assert is_in_convention(box[None], "le90").all()
    assert math.degrees(angle) == pytest.approx(-32, abs=3)


@pytest.mark.parametrize("degrees", [-60, -17, 0, 33, 60])
def test_a_turned_box_is_the_smallest_one_of_the_turned_stroke(degrees: float) -> None:
    mask, angle = stroke(), math.radians(degrees)
    image = np.repeat(mask[:, :, None] * 255, 3, axis=2)
    turned = turned_image(image, angle)
    assert turned.shape[:2] == turned_size(mask.shape, angle)
    (seen,) = boxes_of_masks([turned[:, :, 0] > 184])  # of black, of the grey around it and of the white stroke
    (expected,) = turned_boxes(boxes_of_masks([mask]), mask.shape, angle)
    apart = np.linalg.norm(rotated_corners(seen)[:, None] - rotated_corners(expected)[None], axis=2)
    assert apart.min(axis=0).max() < 2  # pixels: the turned stroke is smooth


def test_the_shipped_split() -> None:
    dataset, plain = RotatedDigits(), DigitsInstances()
    assert len(dataset) == len(plain) == 64
    item, upright = dataset[3], plain[3]
    assert item["image"].shape[:2] == turned_size(upright["image"].shape[:2], angle_of(3))
    assert item["rotated_boxes"].dtype == np.float32
    assert item["rotated_boxes"].shape == (len(upright["labels"]), 5)
    assert np.array_equal(item["labels"], upright["labels"] - 1)  # without the background's id
    again = RotatedDigits()[3]
    assert np.array_equal(item["image"], again["image"])
    assert np.array_equal(item["rotated_boxes"], again["rotated_boxes"])
    height, width = item["image"].shape[:2]
    corners = rotated_corners(item["rotated_boxes"])
    assert (corners > -5).all()
    assert (corners < [width + 5, height + 5]).all()
    angles = [angle_of(index) for index in range(64)]
    assert np.abs(angles).max() <= math.radians(60)
    assert np.std(angles) > 0.4
