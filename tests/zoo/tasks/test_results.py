"""Results: immutable, equal by value, checked."""

import dataclasses

import numpy as np
import pytest

from zoo.errors import InputError
from zoo.tasks.detection import DetectionResult
from zoo.tasks.keypoint_detection import KeypointResult
from zoo.tasks.semantic_segmentation import SegmentationResult


def three() -> DetectionResult:
    return DetectionResult(np.arange(12).reshape(3, 4), np.array([0.9, 0.5, 0.2]), np.array([3, 1, 2]))


def test_detections_have_the_contracts_types_and_order() -> None:
    result = three()
    assert len(result) == 3
    assert (result.boxes.dtype, result.scores.dtype, result.labels.dtype) == (np.float32, np.float32, np.int64)
    assert result.labels.tolist() == [3, 1, 2]


def test_results_cannot_be_changed() -> None:
    result = three()
    with pytest.raises(ValueError, match="read-only"):
        result.boxes[0, 0] = 1
    with pytest.raises(dataclasses.FrozenInstanceError):
        result.scores = np.zeros(3)  # type: ignore[misc]
    label_map = np.zeros((40, 40), np.uint8)
    frozen = SegmentationResult(label_map)
    with pytest.raises(ValueError, match="read-only"):
        frozen.label_map[0] = 1
    label_map[0] = 1  # the caller's own array stays writable


def test_some_of_the_detections() -> None:
    result = three()
    assert result[result.scores > 0.3] == result[:2]
    assert result[np.array([2])].labels.tolist() == [2]
    assert len(result[:0]) == 0


def test_a_result_with_more_is_not_equal_to_one_without() -> None:
    bare = three()
    points = KeypointResult(bare.boxes, bare.scores, bare.labels, np.zeros((3, 5, 3)))
    assert points != bare
    assert bare != points
    assert points[1:] == KeypointResult(bare.boxes[1:], bare.scores[1:], bare.labels[1:], np.zeros((2, 5, 3)))
    assert points[1:] != KeypointResult(bare.boxes[1:], bare.scores[1:], bare.labels[1:], np.ones((2, 5, 3)))


def test_equality_is_by_value() -> None:
    assert three() == three()
    assert three() != three()[:2]
    assert three() != "three"
    zeros = np.zeros((40, 40), np.uint8)
    assert SegmentationResult(zeros) == SegmentationResult(zeros.copy())
    assert SegmentationResult(zeros) != SegmentationResult(zeros.astype(np.int32))
    with pytest.raises(TypeError, match="unhashable"):
        hash(three())


def test_wrong_shapes() -> None:
    with pytest.raises(InputError, match=r"got boxes \[2, 4\], scores \[3\], labels \[3\]; expected \[n, 4\]"):
        DetectionResult(np.zeros((2, 4)), np.zeros(3), np.zeros(3))
    with pytest.raises(InputError, match=r"got keypoints \[3, 5\], expected \[3, P, 3\]"):
        KeypointResult(np.zeros((3, 4)), np.zeros(3), np.zeros(3), np.zeros((3, 5)))
    with pytest.raises(InputError, match=r"got float32 \[4, 4\], expected uint8 or int32 \[h, w\]"):
        SegmentationResult(np.zeros((4, 4), np.float32))
    with pytest.raises(InputError, match=r"got uint8 \[1, 4, 4\]"):
        SegmentationResult(np.zeros((1, 4, 4), np.uint8))
