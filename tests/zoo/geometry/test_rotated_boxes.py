"""Rotated boxes: each convention against its definition, comparing modulo the box's symmetry, and moving them."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.examples import examples
from zoo.geometry.rotated import rotated_corners, rotated_iou
from zoo.geometry.rotated_boxes import CONVENTIONS, ROTATED, in_convention, is_in_convention, moved

DEGREES = {"le90": (-90.0, 90.0), "oc": (0.0, 90.0), "le135": (-45.0, 135.0)}
QUARTER = np.pi / 2
quarters = st.integers(-9, 9).map(lambda turns: turns * QUARTER)
angles = st.one_of(st.floats(-20, 20), quarters, st.tuples(quarters, st.floats(-1e-6, 1e-6)).map(sum))
boxes = st.builds(
    lambda place, sides, angle: np.array([*place, *sides, angle]),
    st.tuples(st.floats(-500, 500), st.floats(-500, 500)),
    st.tuples(st.floats(0.5, 300), st.floats(0.5, 300)),
    angles,
)


def corner_set(box: NDArray[np.float64]) -> NDArray[np.float64]:
    """By the definition alone: the corners [4, 2] along the sides w and h of the box, y down, a positive angle from the
    x axis towards the y axis; in the order of their directions from the centre, the first at random.
    """
    x, y, w, h, angle = box
    along, down = np.array([np.cos(angle), np.sin(angle)]), np.array([-np.sin(angle), np.cos(angle)])
    signs = ((1, 1), (-1, 1), (-1, -1), (1, -1))
    return np.array([[x, y] + a * w / 2 * along + b * h / 2 * down for a, b in signs])


def same_rectangle(one: NDArray[np.float64], other: NDArray[np.float64]) -> float:
    """How far the corners of one are from the nearest ones of the other, at the most."""
    apart = np.linalg.norm(corner_set(one)[:, None] - corner_set(other)[None], axis=2)
    return float(max(apart.min(axis=0).max(), apart.min(axis=1).max()))


@examples(100, 1000)
@given(box=boxes, convention=st.sampled_from(CONVENTIONS))
def test_a_convention_keeps_the_rectangle_and_its_own_definition(box: NDArray[np.float64], convention: str) -> None:
    (row,) = in_convention(box[None], convention)
    assert row.dtype == np.float32
    assert same_rectangle(box, row.astype(np.float64)) <= 1e-4 * (1 + np.abs(box[:4]).max() / 10)
    low, high = DEGREES[convention]
    degrees = np.degrees(float(row[4]))
    assert low - 1e-5 <= degrees <= high + 1e-5  # an end of the range as a float32
    if convention == "oc":
        assert degrees > 0
    else:
        assert row[2] >= row[3]
        assert row[4] != np.float32(np.radians(high))
    assert is_in_convention(row[None], convention)[0]
    assert np.array_equal(in_convention(row[None], convention)[0], row)


@pytest.mark.parametrize(
    ("convention", "expected"),
    [
        # a box of 20 x 10 whose long side points 30 degrees down from the x axis, and one whose long side is upright
        ("le90", [(20, 10, 30), (20, 10, -90)]),
        ("oc", [(20, 10, 30), (20, 10, 90)]),
        ("le135", [(20, 10, 30), (20, 10, 90)]),
    ],
)
def test_rectangles_by_hand(convention: str, expected: list[tuple[float, float, float]]) -> None:
    rectangles = np.array([[0, 0, 10, 20, np.radians(120)], [0, 0, 10, 20, 0]])
    rows = in_convention(rectangles, convention)
    assert np.allclose(np.c_[rows[:, 2:4], np.degrees(rows[:, 4])], expected)


def test_another_convention_is_noticed() -> None:
    rows = np.array([[0, 0, 10, 20, 0.1], [0, 0, 20, 10, 2.0], [0, 0, 20, 10, -1.0], [0, 0, 20, 10, 0.1]], np.float32)
    flags = {convention: is_in_convention(rows, convention).tolist() for convention in CONVENTIONS}
    assert flags == {
        "le90": [False, False, True, True],
        "oc": [True, False, False, True],
        "le135": [False, True, False, True],
    }


@examples(60, 600)
@given(box=boxes, turns=st.integers(-5, 5))
def test_the_same_rectangle_in_other_numbers_is_no_error(box: NDArray[np.float64], turns: int) -> None:
    sides = box[2:4][::-1] if turns % 2 else box[2:4]
    other = np.array([*box[:2], *sides, box[4] + turns * QUARTER])
    assert ROTATED.errors(box[None], other[None])["boxes"][0, 0] <= 1e-9 * (1 + np.abs(box).max())


@examples(60, 600)
@given(box=boxes, step=st.tuples(st.floats(-3, 3), st.floats(-3, 3)), turn=st.floats(-0.3, 0.3))
def test_the_error_is_that_of_the_nearest_corners(
    box: NDArray[np.float64], step: tuple[float, float], turn: float
) -> None:
    other = box + np.array([*step, 0, 0, turn])
    error = ROTATED.errors(box[None], other[None])["boxes"][0, 0]
    ours, theirs = corner_set(box), corner_set(other)
    orders = [np.abs(ours - np.roll(theirs, shift, axis=0)).max() for shift in range(4)]
    assert error == pytest.approx(min(orders), abs=1e-9)
    assert ROTATED.within(box[None], other[None], {"boxes": error * 1.001 + 1e-9})[0, 0]
    assert not ROTATED.within(box[None], other[None], {"boxes": error * 0.999 - 1e-9})[0, 0]


def test_errors_of_all_pairs_and_words() -> None:
    first = np.array([[10, 10, 8, 4, 0], [30, 10, 8, 4, 0.5]])
    second = np.array([[30, 10, 8, 4, 0.5], [11, 10, 4, 8, QUARTER], [0, 0, 1, 1, 0]])
    errors = ROTATED.errors(first, second)["boxes"]
    assert errors.shape == (2, 3)
    assert errors[0, 1] == pytest.approx(1)
    assert errors[1, 0] == 0
    assert ROTATED.distance(first[0], second[1]) == "1 px"
    assert ROTATED.text(first[1], 1) == "30.0, 10.0, 8.0, 4.0, 28.6 degrees"
    assert ROTATED.errors(first, second[:0])["boxes"].shape == (2, 0)
    assert ROTATED.within(first[:0], second, {"boxes": 1.0}).shape == (0, 3)


@examples(60, 600)
@given(box=boxes, scale=st.floats(0.2, 5), offset=st.tuples(st.floats(-50, 50), st.floats(-50, 50)))
def test_one_scale_moves_every_corner(box: NDArray[np.float64], scale: float, offset: tuple[float, float]) -> None:
    (row,) = moved(box[None], (scale, scale), offset)
    expected = (corner_set(box) + offset) * scale
    assert np.abs(corner_set(row)[:, None] - expected[None]).max(axis=2).min(axis=0).max() <= 1e-6 * (1 + scale * 900)


@examples(60, 600)
@given(box=boxes, x=st.floats(0.5, 2), stretch=st.floats(0.99, 1.01), turns=st.integers(0, 3))
def test_two_scales_give_one_rectangle_in_whatever_numbers_it_came(
    box: NDArray[np.float64], x: float, stretch: float, turns: int
) -> None:
    sides = box[2:4][::-1] if turns % 2 else box[2:4]
    other = np.array([*box[:2], *sides, box[4] + turns * QUARTER])
    scale = (x, x * stretch)
    one, two = moved(np.stack((box, other)), scale, (0, 0))
    assert same_rectangle(one, two) <= 1e-6
    near = (corner_set(box) * scale)[:, None] - corner_set(one)[None]
    # a rectangle that is 1 % out of square: its corners are nearer to the parallelogram's than 1 % of its diagonal
    assert np.linalg.norm(near, axis=2).min(axis=0).max() <= abs(1 - stretch) * np.hypot(*one[2:4]) + 1e-6


def test_upright_boxes_stay_so_under_two_scales() -> None:
    (row,) = moved(np.array([[10.0, 20, 8, 4, 0]]), (2.0, 3.0), (1, 1))
    assert np.allclose(row, [22, 63, 16, 12, 0])


def test_the_form_overlaps_as_polygons_do() -> None:
    one = np.array([[0.0, 0, 4, 2, 0.3]])
    assert ROTATED.iou(one, one)[0, 0] == pytest.approx(1)
    assert ROTATED.iou(one, one + np.array([0, 0, 0, 0, np.pi]))[0, 0] == pytest.approx(1)
    assert np.array_equal(ROTATED.iou(one, one + 1), rotated_iou(one, one + 1))
    assert np.array_equal(ROTATED.rows(one), rotated_corners(one).reshape(1, 8))
