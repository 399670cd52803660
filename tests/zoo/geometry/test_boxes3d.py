import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from zoo.geometry import bev_iou, iou_3d, rotated_iou, wrapped_angle

side = st.floats(0.1, 10)
box = st.tuples(*[st.floats(-4, 4)] * 3, side, side, side, st.floats(-4, 4)).map(np.array)


@given(box, box)
def test_the_volume_is_the_area_from_above_times_the_common_height(a, b):
    low, high = max(a[2] - a[5] / 2, b[2] - b[5] / 2), min(a[2] + a[5] / 2, b[2] + b[5] / 2)
    areas = np.array([a[3] * a[4], b[3] * b[4]])
    iou = bev_iou(a[None], b[None])[0, 0]
    common = iou / (1 + iou) * areas.sum() * max(high - low, 0)
    expected = common / (areas @ np.array([a[5], b[5]]) - common)
    assert iou_3d(a[None], b[None])[0, 0] == pytest.approx(expected, abs=1e-9)


def test_upright_boxes_have_the_overlap_of_intervals():
    a, b = np.array([[0.0, 0, 0, 4, 2, 2, 0]]), np.array([[1.0, 1, 1, 4, 2, 2, math.pi]])
    assert iou_3d(a, b)[0, 0] == pytest.approx(3 / (32 - 3))
    assert bev_iou(a, b)[0, 0] == pytest.approx(3 / (16 - 3))


def test_boxes_above_one_another_do_not_meet():
    a = np.array([[0.0, 0, 0, 4, 2, 2, 0.3]])
    b = a + np.array([0, 0, 2.5, 0, 0, 0, 0])
    assert bev_iou(a, b)[0, 0] == pytest.approx(1)
    assert iou_3d(a, b)[0, 0] == 0
    assert iou_3d(np.zeros((0, 7)), b).shape == (0, 1)


def test_a_flat_box_and_one_that_is_not_finite_meet_nothing():
    a = np.array([[0.0, 0, 0, 4, 2, 0, 0], [0, 0, math.nan, 4, 2, 1, 0]])
    assert not iou_3d(a, np.array([[0.0, 0, 0, 4, 2, 2, 0]])).any()
    assert not iou_3d(a[:1], a[:1]).any()


@given(st.floats(-50, 50), st.sampled_from([np.float32, np.float64]))
def test_a_wrapped_angle_is_the_same_direction_in_its_range(angle, dtype):
    wrapped = wrapped_angle(np.array([angle], dtype))
    assert wrapped.dtype == dtype
    assert -np.pi <= float(wrapped[0]) + 1e-7 < np.pi + 1e-7
    assert wrapped[0] < dtype(np.pi)
    assert math.cos(float(wrapped[0]) - float(dtype(angle))) == pytest.approx(1, abs=1e-9)


def test_the_ends_of_the_range_of_an_angle():
    for dtype in (np.float32, np.float64):
        ends = np.array([-np.pi, np.pi, 3 * np.pi, 0.0], dtype)
        np.testing.assert_array_equal(wrapped_angle(ends), np.array([-np.pi, -np.pi, -np.pi, 0.0], dtype))


def test_bev_boxes_have_the_columns_of_rotated_boxes():
    a = np.array([[1.0, 2, 3, 4, 2, 6, 0.5]])
    assert bev_iou(a, a + np.array([0.5, 0, 9, 0, 0, 0, 0]))[0, 0] == pytest.approx(
        rotated_iou(np.array([[1.0, 2, 4, 2, 0.5]]), np.array([[1.5, 2, 4, 2, 0.5]]))[0, 0]
    )
