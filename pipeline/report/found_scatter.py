"""The points of the report's scatter plots, from what both sides found in the pictures of a deploy."""

from collections import Counter
from collections.abc import Mapping, Sequence

import cv2
import numpy as np

from pipeline.parity.detections import finite_detections, pair_detections
from pipeline.parity.pipeline_parity import in_tensor, nearest_label_map
from pipeline.parity.reference_result import ReferenceResult
from pipeline.report.scatter import GreyLevels, Point, Scatter
from zoo.structures import DetectionResult, Result, SegmentationResult, SuperResolutionResult
from zoo.tasks import Task


def found_scatter(
    task: Task,
    names: Sequence[str],
    references: Sequence[ReferenceResult],
    results: Sequence[Result | None],
    gates: Mapping[str, float],
) -> Scatter | GreyLevels | None:
    """For all images together, PyTorch's side of the very tensors that the deployment made.

    ``gates``: those of the graph comparison. None where the output level has no results.
    """
    found = [
        (name, reference, result)
        for name, reference, result in zip(names, references, results, strict=True)
        if result is not None
    ]
    if not found:
        return None
    if isinstance(found[0][2], SuperResolutionResult):
        return _grey_levels([(reference.production.result, result) for _, reference, result in found])
    if isinstance(found[0][2], SegmentationResult):
        return _pixels(task, found)
    return _scores(task, found, gates)


def _scores(task: Task, found: Sequence[tuple[str, ReferenceResult, Result]], gates: Mapping[str, float]) -> Scatter:
    points, alone = [], 0
    for name, reference, result in found:
        production = reference.production.result
        assert isinstance(production, DetectionResult)
        assert isinstance(result, DetectionResult)
        ours, theirs = finite_detections(production), finite_detections(result)
        pairs = pair_detections(in_tensor(ours, reference.placed), in_tensor(theirs, reference.placed), gates)
        alone += len(ours) + len(theirs) - 2 * len(pairs)
        points += [
            Point(name, task.class_name(int(ours.labels[one])), float(ours.scores[one]), float(theirs.scores[other]))
            for one, other in pairs
        ]
    words = f"{len(points)} detections that both found, of all scores; {alone} that one side alone found"
    return Scatter("score", words, tuple(points), "Scores")


def _pixels(task: Task, found: Sequence[tuple[str, ReferenceResult, Result]]) -> Scatter:
    points, same, total = [], 0, 0
    for name, reference, result in found:
        assert isinstance(result, SegmentationResult)
        theirs = result.label_map
        if theirs.shape != reference.placed.image:
            continue  # parity has failed, and says why
        ours = nearest_label_map(reference.production, reference.placed, theirs)
        counts = [Counter(side.ravel().tolist()) for side in (ours, theirs)]
        points += [
            Point(name, task.class_name(label), float(counts[0][label]), float(counts[1][label]))
            for label in sorted(counts[0] | counts[1])
        ]
        same += int((ours == theirs).sum())
        total += ours.size
    words = f"The pixels of each class in each image; {same} of {total} pixels have the same class on both sides"
    return Scatter("pixels of a class", words, tuple(points), "Pixels of each class")


def _grey_levels(found: Sequence[tuple[Result, Result]]) -> GreyLevels:
    counts: Counter[int] = Counter()
    for ours, theirs in found:
        assert isinstance(ours, SuperResolutionResult)
        assert isinstance(theirs, SuperResolutionResult)
        if ours.image.shape == theirs.image.shape:
            levels, numbers = np.unique(cv2.absdiff(ours.image, theirs.image), return_counts=True)
            counts.update(dict(zip(levels.tolist(), numbers.tolist(), strict=True)))
    return GreyLevels(dict(sorted(counts.items())))
