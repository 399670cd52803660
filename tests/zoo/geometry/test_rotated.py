import math

import cv2
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.zoo.geometry.exact_clipping import exact_iou
from zoo.geometry import rotated_corners, rotated_intersection, rotated_iou

side = st.floats(0.05, 20, allow_subnormal=False)
near = st.floats(-8, 8)
angle = st.floats(-7, 7)
box = st.tuples(near, near, side, side, angle).map(np.array)
quarter = math.pi / 2


@given(box, box)
def test_it_is_the_clipped_polygon_in_exact_fractions(a, b):
    assert rotated_iou(a[None], b[None])[0, 0] == pytest.approx(exact_iou(a, b), abs=1e-12)


@given(box, st.integers(0, 3), st.floats(-1e-9, 1e-9), st.integers(0, 4))
def test_boxes_that_share_edges_are_right(a, turns, shift, column):
    b = a.copy()
    b[column] += shift
    b[4] += turns * quarter
    assert rotated_iou(a[None], b[None])[0, 0] == pytest.approx(exact_iou(a, b), abs=1e-12)


@given(box, box, angle, st.floats(-100, 100))
def test_it_is_symmetric_and_turns_and_moves_with_the_plane(a, b, turn, shift):
    pair = np.stack((a, b))
    iou = rotated_iou(pair, pair)
    assert np.all((iou >= 0) & (iou <= 1))
    np.testing.assert_allclose(iou, iou.T, atol=1e-12)
    np.testing.assert_allclose(np.diag(iou), 1.0, atol=1e-12)
    cosine, sine = math.cos(turn), math.sin(turn)
    moved = pair.copy()
    moved[:, :2] = pair[:, :2] @ np.array([[cosine, sine], [-sine, cosine]]) + shift
    moved[:, 4] += turn
    np.testing.assert_allclose(rotated_iou(moved, moved), iou, atol=1e-10)


@given(box, st.integers(-4, 4))
def test_a_box_is_itself_after_half_a_turn_and_with_its_sides_exchanged(a, turns):
    same = np.stack((a, a + np.array([0, 0, 0, 0, turns * math.pi])))
    exchanged = a[[0, 1, 3, 2, 4]] + np.array([0, 0, 0, 0, quarter])
    np.testing.assert_allclose(rotated_iou(a[None], np.stack((*same, exchanged))), 1.0, atol=1e-9)


def test_it_agrees_with_opencv_on_many_random_pairs():
    """OpenCV computes in float32: 1e-3 is its own error."""
    rng = np.random.default_rng(0)
    boxes = np.concatenate((rng.uniform(0, 6, (24, 2)), rng.uniform(0.5, 5, (24, 2)), rng.uniform(-4, 4, (24, 1))), 1)
    areas = rotated_intersection(boxes, boxes)
    rectangles = [((x, y), (w, h), math.degrees(turn)) for x, y, w, h, turn in boxes.tolist()]
    for row, first in zip(areas, rectangles, strict=True):
        for value, second in zip(row, rectangles, strict=True):
            region = cv2.rotatedRectangleIntersection(first, second)[1]
            assert value == pytest.approx(0.0 if region is None else cv2.contourArea(cv2.convexHull(region)), abs=1e-3)


def test_the_angle_turns_the_side_w_from_x_towards_y():
    corners = rotated_corners(np.array([1.0, 2.0, 4.0, 2.0, quarter]))
    np.testing.assert_allclose(corners, [[0, 4], [0, 0], [2, 0], [2, 4]], atol=1e-12)
    upright = np.array([[1.0, 2, 2, 4, 0]])
    assert rotated_iou(corners_box := np.array([[1.0, 2, 4, 2, quarter]]), upright)[0, 0] == pytest.approx(1)
    assert rotated_iou(corners_box, np.array([[1.0, 2, 4, 2, 0]]))[0, 0] == pytest.approx(4 / 12)


def test_boxes_far_from_the_origin_lose_nothing():
    a, b = np.array([[80.0, -60, 0.6, 0.4, 0.3]]), np.array([[80.1, -60, 0.6, 0.4, -0.4]])
    centre = np.array([80, -60, 0, 0, 0])
    assert rotated_iou(a, b)[0, 0] == pytest.approx(rotated_iou(a - centre, b - centre)[0, 0], abs=1e-12)


def test_boxes_without_an_area_and_boxes_that_are_not_finite_overlap_nothing():
    boxes = np.array([[0.0, 0, 0, 2, 0], [0, 0, 0, 0, 0], [math.nan, 0, 1, 1, 0], [0, 0, math.inf, 1, 0]])
    assert not rotated_iou(boxes, np.array([[0.0, 0, 1, 1, 0.5]])).any()
    assert not rotated_iou(boxes[:2], boxes[:2]).any()


def test_no_boxes_give_no_overlaps():
    none, some = np.zeros((0, 5)), np.ones((3, 5))
    assert rotated_iou(none, some).shape == (0, 3)
    assert rotated_iou(some, none).shape == (3, 0)
