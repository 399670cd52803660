"""Figures, layouts and sets of rows, on arrays."""

import math

import numpy as np
import pytest

from pipeline.alignment.figures import figures
from pipeline.alignment.layouts import laid_back, layout
from pipeline.alignment.matching import matches
from pipeline.alignment.row_sets import row_set

CHANCE = np.random.default_rng(0)
THRESHOLD = 1e-4


def test_the_figures_are_those_of_their_definitions() -> None:
    one, two = np.array([3.0, -4.0, 0.0]), np.array([3.0, -4.0, 0.4])
    found = figures(one, two)
    assert found.max_error == pytest.approx(0.4)
    assert found.mean_error == pytest.approx(0.4 / 3)
    assert found.relative == pytest.approx(0.1)
    assert found.cosine == pytest.approx(5 / math.sqrt(25.16))
    assert found.snr == pytest.approx(10 * math.log10(25 / 0.16))
    assert (found + found).mean_error == pytest.approx(found.mean_error)


def test_what_is_not_finite_is_counted_and_equal_only_in_equal_places() -> None:
    one = np.array([np.nan, np.inf, 1.0], np.float32)
    same, other = figures(one, one.copy()), figures(one, np.array([0.0, np.inf, 1.0], np.float32))
    assert (same.nan, same.infinite, same.relative) == ((1, 1), (1, 1), 0.0)
    assert (other.nan, other.relative) == ((1, 0), math.inf)


def test_zeros_equal_zeros_alone() -> None:
    zeros = np.zeros(3)
    assert figures(zeros, zeros).relative == 0.0
    assert figures(zeros, zeros + 1e-9).relative == math.inf


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x.transpose(0, 2, 3, 1),
        lambda x: x.reshape(2, 3, 20),
        lambda x: x.transpose(0, 2, 3, 1).reshape(2, 20, 3),
        lambda x: x[:, None],
    ],
)
def test_a_known_layout_is_undone(change: object) -> None:
    x = CHANCE.random((2, 3, 4, 5), np.float32)
    fit = layout(x, change(x))  # type: ignore[operator]
    assert fit is not None
    assert np.array_equal(fit.array, x)
    assert fit.how
    assert not fit.rows


def test_other_sizes_and_kinds_fit_nothing() -> None:
    x = np.zeros((1, 3, 4, 5), np.float32)
    assert layout(x, np.zeros((1, 3, 4, 6), np.float32)) is None
    assert layout(x, np.zeros((1, 3, 4, 5), np.int64)) is None


@pytest.mark.parametrize(("count", "shape"), [(3, (1, 5, 4)), (3, (5, 4)), (5, (1, 5, 4))])
def test_rows_go_into_slots_and_back(count: int, shape: tuple[int, ...]) -> None:
    expected = CHANCE.random((count, 4), np.float32) + 1
    slots = laid_back(expected, np.ones(shape, np.float32))
    assert slots.shape == shape
    fit = layout(expected, slots)
    assert fit is not None
    assert np.array_equal(fit.array.reshape(-1, 4)[:count], expected)
    assert not fit.array.reshape(-1, 4)[count:].any()


def test_labels_leave_their_empty_slots_empty() -> None:
    assert laid_back(np.array([3, 1]), np.zeros((1, 4), np.int64)).tolist() == [[3, 1, -1, -1]]
    assert laid_back(np.array([0.5, 0.25], np.float32), np.ones((1, 3), np.float32)).tolist() == [[0.5, 0.25, 0]]


def test_rois_behind_the_index_of_their_image() -> None:
    boxes = CHANCE.random((3, 4), np.float32)
    fit = layout(boxes, np.concatenate([np.zeros((3, 1), np.float32), boxes], axis=1))
    assert fit is not None
    assert fit.rows
    assert np.array_equal(fit.array, boxes)
    assert np.array_equal(laid_back(boxes, np.zeros((7, 5), np.float32))[:3, 1:], boxes)


def test_rows_are_a_set() -> None:
    boxes = CHANCE.random((40, 4)).astype(np.float32)
    slots = np.concatenate([boxes[CHANCE.permutation(40)], np.zeros((10, 4), np.float32)])
    found = row_set(boxes, slots, THRESHOLD)
    assert not found.in_order
    assert found.different == 0
    slots[3] += 1
    assert row_set(boxes, slots, THRESHOLD).different == 1
    slots[45] = 1.0  # one box more than PyTorch's
    assert row_set(boxes, slots, THRESHOLD).different == 2
    assert row_set(boxes, boxes, THRESHOLD).in_order
    assert row_set(boxes[:0], slots[:0], THRESHOLD).in_order


def test_calls_at_two_places_of_two_rows_of_windows() -> None:
    calls = [CHANCE.random((1, 2), np.float32) + place for _ in range(6) for place in (0.0, 10.0)]
    first, second = np.concatenate(calls[::2]), np.concatenate(calls[1::2])
    graph = [first[:3], second[:3], first[3:], second[3:]]
    found = matches(calls, graph, THRESHOLD)
    assert [match.place for match in found] == [0, 1, 2, 3]
    for match, array in zip(found, graph, strict=True):
        assert np.array_equal(match.expected, array)  # type: ignore[arg-type]


def test_several_tensors_are_paired_by_shape_and_then_by_value() -> None:
    large, small, twin = (CHANCE.random(shape, np.float32) for shape in ((1, 2, 8), (1, 2, 4), (1, 2, 4)))
    found = matches([large, small, twin], [twin + 1e-7, small, large], THRESHOLD)
    assert [match.number for match in found] == [2, 1, 0]
    odd = matches([large, small], [small, np.zeros((9, 9), np.float32), large], THRESHOLD)
    assert [match.number for match in odd] == [1, 0]


def test_a_tensor_of_as_many_elements_does_not_take_the_place_of_rows() -> None:
    scores, points = CHANCE.random(4, np.float32) + 1, CHANCE.random((4, 5), np.float32) + 1
    slots, slots_of_points = np.zeros((1, 20), np.float32), np.zeros((1, 20, 5), np.float32)
    slots[0, :4], slots_of_points[0, :4] = scores, points
    found = matches([points, scores], [slots, slots_of_points], THRESHOLD)
    assert [match.number for match in found] == [1, 0]
