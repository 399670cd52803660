"""Matched results in points: all for the same, less for what is lost, moved or otherwise."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.small_tasks import small_task
from zoo.tasks import Result, known_tasks
from zoo.tasks.detection import DetectionResult
from zoo.tasks.instance_segmentation import InstanceSegmentationResult
from zoo.tasks.keypoint_detection import KeypointResult
from zoo.tasks.proof import proof_of
from zoo.tasks.semantic_segmentation import SegmentationResult
from zoo.tasks.super_resolution import SuperResolutionResult

TASKS = {task.result_type: proof_of(small_task(task.name)) for task in known_tasks().values()}
BOXES = np.array([[0, 0, 10, 10], [20, 0, 40, 20], [0, 30, 8, 60]], np.float32)
SCORES = np.array([0.9, 0.6, 0.5], np.float32)
LABELS = np.array([1, 2, 1])
FOUND = DetectionResult(BOXES, SCORES, LABELS)
NOTHING = FOUND[:0]


def agreement(expected: list[Result], found: list[Result]) -> float:
    return TASKS[type(expected[0])].agreement(expected, found)


@given(st.permutations(range(3)))
def test_the_order_says_nothing(order: list[int]) -> None:
    assert agreement([FOUND], [FOUND[np.array(order)]]) == pytest.approx(100)


def test_a_detection_weighs_its_score() -> None:
    assert agreement([FOUND], [FOUND[:2]]) == pytest.approx(100 * (2 * 1.5) / (2 * 1.5 + 0.5), rel=1e-6)
    assert agreement([FOUND], [NOTHING]) == 0
    assert agreement([NOTHING, FOUND], [NOTHING, FOUND]) == pytest.approx(100)
    assert agreement([NOTHING], [NOTHING]) == 100


def test_another_label_is_another_object() -> None:
    other = DetectionResult(BOXES, SCORES, np.array([1, 2, 3]))
    assert agreement([FOUND], [other]) == pytest.approx(100 * 1.5 / 2, rel=1e-6)


def test_a_pair_counts_its_overlap() -> None:
    moved = DetectionResult(BOXES[:1] + np.array([0, 0, 10, 0], np.float32), SCORES[:1], LABELS[:1])
    assert agreement([FOUND[:1]], [moved]) == pytest.approx(50, rel=1e-6)


def test_what_is_no_number_pairs_with_nothing() -> None:
    broken = DetectionResult(np.full((1, 4), np.nan), np.array([0.9]), np.array([1]))
    infinite = DetectionResult(BOXES[:1], np.array([np.inf]), np.array([1]))
    assert agreement([FOUND[:1]], [broken]) == 0
    assert agreement([FOUND[:1]], [infinite]) == 0


def test_what_is_no_number_is_found_too_much() -> None:
    scores = np.array([np.nan, -np.inf, 0.9], np.float32)
    odd = DetectionResult(BOXES, scores, LABELS)
    assert agreement([NOTHING], [odd]) == 0
    assert 0 <= agreement([FOUND], [odd]) < 100
    assert 0 <= agreement([odd], [FOUND]) < 100


def test_a_box_without_area_is_the_same_as_itself() -> None:
    empty = DetectionResult(np.array([[5, 5, 5, 5]], np.float32), SCORES[:1], LABELS[:1])
    assert agreement([empty], [empty]) == pytest.approx(100)


def test_no_keypoints_are_the_same() -> None:
    bare = KeypointResult(BOXES[:1], SCORES[:1], LABELS[:1], np.zeros((1, 0, 3), np.float32))
    assert agreement([bare], [bare]) == pytest.approx(100)


def test_masks_and_keypoints_count() -> None:
    masks = np.zeros((1, 28, 28), np.float32)
    masks[:, :14] = 1
    half = masks.copy()
    half[:, :7] = 0
    ones, others = (InstanceSegmentationResult(BOXES[:1], SCORES[:1], LABELS[:1], each) for each in (masks, half))
    assert agreement([ones], [ones]) == pytest.approx(100)
    assert agreement([ones], [others]) == pytest.approx(50)
    points = np.array([[[1, 1, 0], [9, 9, 0]]], np.float32)
    near = points + np.array([0.5, 0, 0], np.float32)  # 3.5 % of the diagonal
    far = points + np.array([[[0, 0, 0], [1, 0, 0]]], np.float32)  # 7 % of it, one of two
    a, b, c = (KeypointResult(BOXES[:1], SCORES[:1], LABELS[:1], each) for each in (points, near, far))
    assert agreement([a], [b]) == pytest.approx(100)
    assert agreement([a], [c]) == pytest.approx(50)


def test_label_maps_and_images() -> None:
    labels = np.array([[0, 0], [1, 1]], np.uint8)
    other = np.array([[0, 0], [1, 0]], np.uint8)
    assert agreement([SegmentationResult(labels)], [SegmentationResult(labels)]) == 100
    assert agreement([SegmentationResult(labels)], [SegmentationResult(other)]) == pytest.approx(
        100 * (2 / 3 + 0.5) / 2
    )
    image = np.full((4, 4, 3), 100, np.uint8)
    moved = image.copy()
    moved[0], moved[1] = 102, 103
    assert agreement([SuperResolutionResult(image)], [SuperResolutionResult(moved)]) == pytest.approx(75)
