"""Points of the plots: pairs of detections, pixels of classes, grey levels."""

from typing import Any

import numpy as np
import torch

from pipeline.parity.gates import merged_gates
from pipeline.report.scatter_table import scatter_table
from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.tasks import Result, Task, build_task
from zoo.tasks.detection import DetectionResult
from zoo.tasks.proof import Compared, EagerResult, proof_of
from zoo.tasks.scatter import Histogram, Point, Scatter
from zoo.tasks.semantic_segmentation import SegmentationResult
from zoo.tasks.super_resolution import SuperResolutionResult

CLASSES = [{"name": f"class {i}", "category_id": i} for i in range(3)]
GATES = merged_gates()["graph"]
PLACED = ReferenceInput(torch.zeros(1, 3, 4, 6), (4, 6), (4, 6))


def scatter(task: Task, reference: Result, candidate: Result, logits: Any = None) -> Scatter | Histogram:
    eager = EagerResult(np.zeros((3, 4, 6), np.float32), reference, logits)
    return proof_of(task).scatter([Compared("a.jpg", PLACED, eager, candidate)], GATES)


def detections(scores: list[float]) -> DetectionResult:
    boxes = np.array([[20 * n, 0, 20 * n + 10, 10] for n in range(len(scores))], np.float32)
    return DetectionResult(boxes, np.array(scores), np.arange(len(scores)))


def test_scores_of_pairs() -> None:
    task = build_task({"type": "Detection", "classes": CLASSES})
    ours, theirs = detections([0.9, 0.5, 0.3]), detections([0.8, 0.5])
    found = scatter(task, ours, theirs[np.array([1, 0])])
    assert isinstance(found, Scatter)
    assert [(point.image, point.name) for point in found.points] == [("a.jpg", "class 0"), ("a.jpg", "class 1")]
    assert [round(point.candidate - point.reference, 6) for point in found.points] == [-0.1, 0]
    assert found.words == "2 detections that both found, of all scores; 1 that only one side found"
    assert [row[1] for row in scatter_table(found, "image").rows] == [
        "class 0",
        "class 1",
    ]  # the largest difference first


def test_what_is_not_finite_is_no_point() -> None:
    task = build_task({"type": "Detection", "classes": CLASSES})
    ours, theirs = detections([0.9, 0.5]), detections([0.9, float("nan")])
    found = scatter(task, ours, theirs)
    assert isinstance(found, Scatter)
    assert [point.name for point in found.points] == ["class 0"]


def test_pixels_of_classes() -> None:
    task = build_task({"type": "SemanticSegmentation", "classes": CLASSES})
    ours = np.zeros((4, 6), np.uint8)
    ours[:2] = 2
    logits = np.eye(3, dtype=np.float32)[ours].transpose(2, 0, 1)
    theirs = ours.copy()
    theirs[0, 0] = 1
    found = scatter(task, SegmentationResult(ours), SegmentationResult(theirs), logits)
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
    found = scatter(task, SuperResolutionResult(ours), SuperResolutionResult(theirs))
    assert isinstance(found, Histogram)
    assert found.counts == {0: 70, 1: 1, 2: 1}
    assert found.words == "70 of 72 values (each pixel has three) are equal, the others up to 2 grey levels apart"
