"""Points of the plots: pairs of detections, pixels of classes, grey levels."""

from typing import Any

import numpy as np
import torch

from pipeline.parity.gates import merged_gates
from pipeline.parity.reference_input import ReferenceInput
from pipeline.parity.reference_result import EagerResult, ReferenceResult
from pipeline.report.found_scatter import found_scatter
from pipeline.report.scatter import GreyLevels, Point, Scatter, scatter_table
from zoo.structures import DetectionResult, Result, SegmentationResult, SuperResolutionResult
from zoo.tasks import build_task

CLASSES = [{"name": f"class {i}", "category_id": i} for i in range(3)]
GATES = merged_gates()["graph"]
PLACED = ReferenceInput(torch.zeros(1, 3, 4, 6), (4, 6), (4, 6))


def reference(result: Result, logits: Any = None) -> ReferenceResult:
    eager = EagerResult(np.zeros((3, 4, 6), np.float32), result, logits)
    return ReferenceResult(PLACED, eager, eager)


def detections(scores: list[float]) -> DetectionResult:
    boxes = np.array([[20 * n, 0, 20 * n + 10, 10] for n in range(len(scores))], np.float32)
    return DetectionResult(boxes, np.array(scores), np.arange(len(scores)))


def test_scores_of_pairs() -> None:
    task = build_task({"type": "Detection", "classes": CLASSES})
    ours, theirs = detections([0.9, 0.5, 0.3]), detections([0.8, 0.5])
    found = found_scatter(task, ["a.jpg"], [reference(ours)], [theirs[np.array([1, 0])]], GATES)
    assert isinstance(found, Scatter)
    assert [(point.image, point.name) for point in found.points] == [("a.jpg", "class 0"), ("a.jpg", "class 1")]
    assert [round(point.candidate - point.reference, 6) for point in found.points] == [-0.1, 0]
    assert found.words == "2 detections that both found, of all scores; 1 that one side alone found"
    assert [row[1] for row in scatter_table(found).rows] == ["class 0", "class 1"]  # the largest difference first


def test_what_is_not_finite_is_no_point() -> None:
    task = build_task({"type": "Detection", "classes": CLASSES})
    ours, theirs = detections([0.9, 0.5]), detections([0.9, float("nan")])
    found = found_scatter(task, ["a.jpg"], [reference(ours)], [theirs], GATES)
    assert isinstance(found, Scatter)
    assert [point.name for point in found.points] == ["class 0"]


def test_pixels_of_classes() -> None:
    task = build_task({"type": "SemanticSegmentation", "classes": CLASSES})
    ours = np.zeros((4, 6), np.uint8)
    ours[:2] = 2
    logits = np.eye(3, dtype=np.float32)[ours].transpose(2, 0, 1)
    theirs = ours.copy()
    theirs[0, 0] = 1
    found = found_scatter(
        task, ["a.jpg"], [reference(SegmentationResult(ours), logits)], [SegmentationResult(theirs)], GATES
    )
    assert isinstance(found, Scatter)
    assert found.points == (
        Point("a.jpg", "class 0", 12, 12),
        Point("a.jpg", "class 1", 0, 1),
        Point("a.jpg", "class 2", 12, 11),
    )
    assert found.words.endswith("; 23 of 24 pixels have the same class on both sides")


def test_grey_levels() -> None:
    task = build_task({"type": "SuperResolution"})
    ours = np.full((4, 6, 3), 10, np.uint8)
    theirs = ours.copy()
    theirs[0, 0] = (10, 11, 8)
    found = found_scatter(
        task, ["a.jpg"], [reference(SuperResolutionResult(ours))], [SuperResolutionResult(theirs)], GATES
    )
    assert isinstance(found, GreyLevels)
    assert found.counts == {0: 70, 1: 1, 2: 1}
    assert found.words == "70 of 72 values (each pixel has three) are equal, the others up to 2 grey levels apart"


def test_no_results_no_points() -> None:
    task = build_task({"type": "Detection", "classes": CLASSES})
    assert found_scatter(task, ["a.jpg"], [reference(detections([0.9]))], [None], GATES) is None
