"""The reference's way of detections from the tensor to the image; shares no code with production's."""

from collections.abc import Mapping

import torch
from torch import Tensor

from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.tasks.detection.result import DetectionResult


def detections_in_image(detections: Mapping[str, Tensor], placed: ReferenceInput) -> DetectionResult:
    """torchvision's dictionary of one image, boxes moved to the image and clipped to it."""
    height, width = placed.image
    boxes = boxes_in_image(detections["boxes"], placed)
    boxes[:, 0::2].clamp_(0, width)
    boxes[:, 1::2].clamp_(0, height)
    return DetectionResult(boxes.numpy(), detections["scores"].numpy(), detections["labels"].numpy())


def boxes_in_image(boxes: Tensor, placed: ReferenceInput) -> Tensor:
    """Boxes [n, 4] of the tensor as boxes of the image."""
    (y, x), (top, left) = placed.tensor_per_image, placed.offset
    return (boxes + torch.tensor((left, top, left, top))) / torch.tensor((x, y, x, y))
