"""Masks are compared between detections that were paired; a wrong mask is a failure that says whose it is."""

from dataclasses import replace

import numpy as np
import pytest

from pipeline.parity.gates import GRAPH
from pipeline.parity.levels import compare_outputs
from tests.small_tasks import small_task
from zoo.comparison.decision_rule import DecisionRule
from zoo.tasks.instance_segmentation import InstanceSegmentationResult
from zoo.tasks.instance_segmentation.proof import InstanceSegmentationProof

PROOF = InstanceSegmentationProof(small_task("instance-segmentation"))
RULE = DecisionRule(score=0.05, nms_iou=0.5, slots=100)
RNG = np.random.default_rng(0)
FOUND = InstanceSegmentationResult(
    np.array([[10, 10, 50, 50], [100, 100, 140, 130], [20, 60, 50, 90]]),
    np.array([0.9, 0.8, 0.7]),
    np.array([1, 2, 1]),
    RNG.uniform(0.1, 0.9, (3, 28, 28)),
)


def moved(error: float) -> InstanceSegmentationResult:
    """One cell of the second mask is wrong by `error`."""
    masks = FOUND.masks.copy()
    masks[1, 3, 4] += np.float32(error)
    return replace(FOUND, masks=masks)


def test_masks_follow_their_detections_not_their_place() -> None:
    result = PROOF.compare_sets(FOUND, moved(0.004)[np.array([2, 0, 1])], GRAPH, RULE)
    assert (result.matched, result.failures) == (3, ())
    (masks,) = [figure for figure in result.figures if figure.name == "masks"]
    assert masks.max_error == pytest.approx(0.004, rel=1e-3)
    assert masks.passed


def test_one_wrong_cell_is_a_failure() -> None:
    result = PROOF.compare_sets(FOUND, moved(0.006), GRAPH, RULE)
    assert result.matched == 3
    assert result.borderline == ()
    assert result.failures == ("the mask of label 2, score 0.8000, box [100.0, 100.0, 140.0, 130.0] is 0.006 away",)


def test_not_a_number_in_a_mask_is_a_failure() -> None:
    assert PROOF.compare_sets(FOUND, moved(np.nan), GRAPH, RULE).failures == (
        "NaN or infinity in the detections of the backend",
    )


def padded(result: InstanceSegmentationResult) -> dict[str, np.ndarray]:
    """One image in five slots."""
    outputs: dict[str, np.ndarray] = {"num_dets": np.array([len(result)])}
    for name in ("boxes", "scores", "labels", "masks"):
        values = getattr(result, name)
        outputs[name] = np.full((1, 5, *values.shape[1:]), -1 if name == "labels" else 0, values.dtype)
        outputs[name][0, : len(result)] = values
    return outputs


def compared(candidate: dict[str, np.ndarray]) -> tuple[str, ...]:
    return compare_outputs(small_task("instance-segmentation"), "final", padded(FOUND), candidate, GRAPH, RULE).failures


def test_padded_masks() -> None:
    assert compared(padded(FOUND)) == ()
    assert "the mask of label 2" in compared(padded(moved(0.1)))[0]
    left = padded(FOUND)
    left["masks"][0, 4, 0, 0] = 0.5
    assert "slots past num_dets = 3 hold values" in compared(left)[0]
    small = padded(FOUND) | {"masks": np.zeros((1, 5, 14, 14), np.float32)}
    assert "masks: the backend gives float32 [1, 5, 14, 14]" in compared(small)[0]
    without = {name: value for name, value in padded(FOUND).items() if name != "masks"}
    assert compared(without) == ("outputs masks: only PyTorch has them",)
