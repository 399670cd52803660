"""The pasted masks of paired detections: zeros and ones, pixel by pixel of the graph's input.

Pasting cuts the corners of a box off to whole pixels. Where a corner lies on one, a rounding error decides, and the
whole mask is drawn a pixel wider or narrower. A mask that differs so is borderline where it is just what torchvision
pastes of the backend's own box and mask.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.comparison import Borderline, Figure
from zoo.tasks.detection.proof.boxes import format_detection
from zoo.tasks.detection.proof.matching import Details
from zoo.tasks.instance_segmentation.mask_pasting import paste_masks, pasted_corners
from zoo.tasks.instance_segmentation.result import InstanceSegmentationResult

Array = NDArray[Any]


@dataclass(frozen=True)
class ImageMasks:
    """One image's pasted masks, uint8 [n, H, W], of PyTorch's and of the backend's detections."""

    reference: Array
    candidate: Array


def compare_image_masks(
    reference: InstanceSegmentationResult,
    candidate: InstanceSegmentationResult,
    masks: ImageMasks,
    pairs: Sequence[tuple[int, int]],
    gates: Mapping[str, float],
) -> Details:
    """Figures of all pairs (index in reference, index in candidate), what is borderline, and words for what is wrong.

    ``gates``: "image_masks", the part of the image's pixels that may differ in one mask; "image_masks_of_object", the
    part of the pixels of that object, of both sides together; one pixel always may.
    """
    height, width = masks.reference.shape[1:]
    parts: list[tuple[float, float]] = []
    borderline: list[Borderline] = []
    failures: list[str] = []
    for row, column in pairs:
        ours, theirs = masks.reference[row], masks.candidate[column]
        count, shares = _parts(ours, theirs)
        wrong = shares[0] > gates["image_masks"] or shares[1] > gates["image_masks_of_object"]
        what = f"the image mask of {format_detection(reference, row)} differs in {count} of {height * width} pixels"
        if wrong and _is_on_a_whole_pixel(reference, row, candidate, column, theirs, gates):
            borderline.append(Borderline(what, "a corner of its enlarged box is on a whole pixel"))
            continue
        parts.append(shares)
        if wrong:
            failures.append(f"{what}, {shares[1]:.3g} of those of the object")
    return Details(_figures(np.array(parts).reshape(-1, 2), gates), tuple(borderline), tuple(failures))


def _parts(ours: Array, theirs: Array) -> tuple[int, tuple[float, float]]:
    """How many pixels differ; as a part of the image, and of the object, where one pixel counts nothing."""
    count = int((ours != theirs).sum())
    together = int(((ours != 0) | (theirs != 0)).sum())
    return count, (count / ours.size, max(count - 1, 0) / max(together, 1))


def _is_on_a_whole_pixel(
    reference: InstanceSegmentationResult,
    row: int,
    candidate: InstanceSegmentationResult,
    column: int,
    pasted: Array,
    gates: Mapping[str, float],
) -> bool:
    """Whether the corners of a pair fall on different pixels, and the backend pasted its own mask rightly."""
    detection = candidate[column : column + 1]
    cells = detection.masks.shape[-1]
    if np.array_equal(pasted_corners(reference.boxes[row : row + 1], cells), pasted_corners(detection.boxes, cells)):
        return False
    _, (of_image, of_object) = _parts(
        paste_masks(detection.masks, detection.boxes, pasted.shape)[0].astype(np.uint8), pasted
    )
    return of_image <= gates["image_masks"] and of_object <= gates["image_masks_of_object"]


def _figures(parts: Array, gates: Mapping[str, float]) -> tuple[Figure, ...]:
    names = (("image_masks", "of all pixels"), ("image_masks_of_object", "of its pixels"))
    return tuple(
        Figure(
            name,
            unit,
            float(column.max(initial=0)),
            float(column.mean()) if len(column) else 0.0,
            None,
            len(column),
            gates[name],
        )
        for (name, unit), column in zip(names, parts.T, strict=True)
    )
