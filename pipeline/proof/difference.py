"""Where two results of one image part, drawn: what only one side found, which pixels differ.

What both found is drawn thin and grey, so that nothing but a difference catches the eye. The sides differ in colour and
in words.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from pipeline.images.highlight import faded, highlight
from pipeline.parity.detections import pair_detections
from zoo.structures import (
    DetectionResult,
    InstanceSegmentationResult,
    Result,
    SegmentationResult,
    SuperResolutionResult,
)
from zoo.tasks import Task
from zoo.tasks.drawing import draw_box

Image = NDArray[Any]

REFERENCE, CANDIDATE = (178, 114, 0), (0, 159, 230)  # BGR: a blue and an orange that colour-blind people tell apart
BOTH = (150, 150, 150)
WHITE = 255


class Difference(NamedTuple):
    """``picture`` uint8 BGR; ``words``: the same for those who do not see it."""

    picture: Image
    words: str


def difference(
    image: Image, task: Task, reference: Result, candidate: Result, gates: Mapping[str, float]
) -> Difference:
    """What differs between two results of one ``image``, uint8 [h, w, 3] BGR.

    ``gates``: those of the pipeline comparison, which say how near two detections must be to be one.
    """
    if isinstance(reference, DetectionResult) and isinstance(candidate, DetectionResult):
        return _detections(image, task, reference, candidate, gates)
    if isinstance(reference, SegmentationResult) and isinstance(candidate, SegmentationResult):
        return _label_maps(image, reference, candidate)
    assert isinstance(reference, SuperResolutionResult)
    assert isinstance(candidate, SuperResolutionResult)
    return _restored(reference, candidate)


def _detections(
    image: Image, task: Task, reference: DetectionResult, candidate: DetectionResult, gates: Mapping[str, float]
) -> Difference:
    canvas = faded(image)
    pairs = pair_detections(reference, candidate, gates)
    masks = _mask_difference(canvas, reference, candidate, pairs)
    for one, _ in pairs:
        x1, y1, x2, y2 = (round(float(side)) for side in reference.boxes[one])
        cv2.rectangle(canvas, (x1, y1), (x2, y2), BOTH, 1, cv2.LINE_AA)
    alone = [("PyTorch", reference, {one for one, _ in pairs}, REFERENCE)]
    alone += [("backend", candidate, {other for _, other in pairs}, CANDIDATE)]
    for who, side, paired, ink in alone:
        for index in sorted(set(range(len(side))) - paired):
            name = task.class_name(int(side.labels[index]))
            draw_box(canvas, side.boxes[index], f"only {who}: {name} {side.scores[index]:.2f}", ink)
    only = [len(reference) - len(pairs), len(candidate) - len(pairs)]
    words = f"{len(pairs)} objects found by both, {only[0]} by PyTorch alone, {only[1]} by the backend alone{masks}"
    return Difference(canvas, words)


def _mask_difference(
    canvas: Image, reference: DetectionResult, candidate: DetectionResult, pairs: list[tuple[int, int]]
) -> str:
    """Draw the pixels in which the masks of a pair differ; words that say how many there are."""
    if not (isinstance(reference, InstanceSegmentationResult) and isinstance(candidate, InstanceSegmentationResult)):
        return ""
    height, width = canvas.shape[:2]
    changed = np.zeros((height, width), np.bool_)
    if pairs:
        rows, columns = np.array(pairs).T
        ours, theirs = (side.image_masks(height, width) for side in (reference[rows], candidate[columns]))
        changed = (ours != theirs).any(axis=0)
    highlight(canvas, changed)
    return f"; masks differ in {int(changed.sum())} pixels"


def _label_maps(image: Image, reference: SegmentationResult, candidate: SegmentationResult) -> Difference:
    canvas = faded(image)
    if reference.label_map.shape != candidate.label_map.shape:
        return Difference(canvas, "label maps of two sizes")
    changed = reference.label_map != candidate.label_map
    highlight(canvas, changed)
    return Difference(canvas, f"{int(changed.sum())} of {changed.size} pixels have another class")


def _restored(reference: SuperResolutionResult, candidate: SuperResolutionResult) -> Difference:
    """Differences in grey levels, made as bright as they can be; black where there are none."""
    if reference.image.shape != candidate.image.shape:
        return Difference(np.zeros_like(reference.image), "images of two sizes")
    apart = cv2.absdiff(reference.image, candidate.image).max(axis=2)
    largest = int(apart.max(initial=0))
    factor = WHITE // largest if largest else 1
    picture = cv2.applyColorMap((apart * factor).astype(np.uint8), cv2.COLORMAP_INFERNO)
    if not largest:
        return Difference(picture, "all pixels are equal")
    words = f"{int((apart > 0).sum())} of {apart.size} pixels differ, by {largest} of 255 grey levels at most"
    return Difference(picture, f"{words} (drawn {factor} times as strong)")
