"""The reference's way of rotated boxes from the tensor to the image; shares no code with production's.

Production moves sides and angles by a formula; this moves corners, and takes the sides from them.
"""

import math
from collections.abc import Mapping

import numpy as np
import torch
from torch import Tensor

from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.tasks.rotated_detection.result import RotatedDetectionResult

QUARTER = math.pi / 2
RANGES = {"le90": (-QUARTER, QUARTER), "le135": (-QUARTER / 2, 3 * QUARTER / 2)}
TURNS = range(-9, 10)  # quarters of a turn that are tried: models give angles of less than two turns


def detections_in_image(
    detections: Mapping[str, Tensor], placed: ReferenceInput, convention: str
) -> RotatedDetectionResult:
    """A dictionary of one image with "boxes" [n, 5], in the image and with angles as the convention has them."""
    boxes = boxes_in_image(detections["boxes"].double(), placed)
    rows = [in_convention(box, convention) for box in boxes.tolist()]
    return RotatedDetectionResult(
        torch.tensor(rows, dtype=torch.float32).reshape(-1, 5).numpy(),
        detections["scores"].numpy(),
        detections["labels"].numpy(),
    )


def boxes_in_image(boxes: Tensor, placed: ReferenceInput) -> Tensor:
    """Boxes [n, 5] of the tensor as boxes of the image: sides and direction from the corners' places there."""
    (y, x), (top, left) = placed.tensor_per_image, placed.offset
    along = torch.stack((torch.cos(boxes[:, 4]), torch.sin(boxes[:, 4])), dim=1)
    down = torch.stack((-along[:, 1], along[:, 0]), dim=1)
    half_w, half_h = boxes[:, 2:3] / 2 * along, boxes[:, 3:4] / 2 * down
    signs = ((-1, -1), (1, -1), (1, 1), (-1, 1))  # in turn around the box
    shift, scale = torch.tensor((left, top), dtype=boxes.dtype), torch.tensor((x, y), dtype=boxes.dtype)
    first, second, third, last = ((boxes[:, :2] + a * half_w + b * half_h + shift) / scale for a, b in signs)
    w, h = (second - first + third - last) / 2, (last - first + third - second) / 2
    along_w, along_h = torch.nn.functional.normalize(w), torch.nn.functional.normalize(h)
    direction = along_w + torch.stack((along_h[:, 1], -along_h[:, 0]), dim=1)
    angle = torch.atan2(direction[:, 1], direction[:, 0])
    center = (first + second + third + last) / 4
    return torch.cat((center, torch.stack((w.norm(dim=1), h.norm(dim=1), angle), dim=1)), dim=1)


def in_convention(box: list[float], convention: str) -> list[float]:
    """The one of the box's ways of writing (quarters of a turn, w and h swapped at the odd ones) that is allowed.

    Angles are judged as float32, which a result has.
    """
    x, y, w, h, angle = box
    for turns in TURNS:
        sides, turned = (h, w) if turns % 2 else (w, h), np.float32(angle + turns * QUARTER)
        if convention == "oc":
            allowed = bool(0 < turned <= np.float32(QUARTER))
        else:
            low, high = RANGES[convention]
            allowed = bool(sides[0] >= sides[1] and np.float32(low) <= turned < np.float32(high))
        if allowed:
            return [x, y, *sides, float(turned)]
    return box  # no number
