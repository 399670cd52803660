"""The reference's own way from the unpatched model's outputs to a result in the image's coordinates.

The model runs four times on each image: on the reference's own tensor, on the tensor that production makes of the
image, and on two more roundings of the first. The second tells what the input does from what the deployment does, the
others what a rounding of the input does to this model (see input_rounding.py).
Where the target has image_sizes, the model is given the picture alone, without the padding around it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pipeline.parity.input_rounding import explained_margin, rounded_inputs
from pipeline.parity.reference_input import ReferenceInput, reference_input
from zoo.contract.instance_segmentation import head_masks
from zoo.contract.segmentation import model_logits
from zoo.errors import InputError
from zoo.preprocess import Preprocess
from zoo.structures import (
    DetectionResult,
    InstanceSegmentationResult,
    KeypointResult,
    Result,
    SegmentationResult,
    SuperResolutionResult,
)
from zoo.tasks import Detection, InstanceSegmentation, KeypointDetection, Task

BYTE_CLASSES = 256
EQUAL = 1e-6  # of 0..1: float32's own rounding, where the image was not resized
Nearest = tuple[NDArray[np.intp], NDArray[np.intp]]

# OpenCV 4 counts places in steps of 2 ** -16 for each pixel: 0.006 at the 400th. OpenCV 5 is exact.
NEAREST_TOLERANCE = 0.01


@dataclass(frozen=True)
class EagerResult:
    """``tensor`` float32 [3, H, W], and what the unpatched model found in it; ``result`` in the image's coordinates.

    ``logits`` float32 [C, H, W] of the tensor, for segmentation alone.
    """

    tensor: NDArray[np.float32]
    result: Result
    logits: NDArray[np.float32] | None = None


@dataclass(frozen=True)
class ReferenceResult:
    """One image: by the reference's ``own`` preprocessing, from the tensor of ``production``'s, and ``rounded``.

    ``rounded``: from other roundings of the reference's own tensor; empty where the image is not resized.
    ``explained``: the margin between two logits below which these roundings may change the label of a pixel.
    """

    placed: ReferenceInput
    own: EagerResult
    production: EagerResult
    rounded: tuple[Result, ...] = ()
    explained: float = 0.0

    @property
    def result(self) -> Result:
        """What PyTorch found by a path that shares no code with production."""
        return self.own.result


def reference_result(
    model: nn.Module,
    task: Task,
    preprocess: Mapping[str, Any],
    forward: Mapping[str, Any],
    image: NDArray[Any],
    *,
    image_sizes: bool = False,
) -> ReferenceResult:
    """Run the model as its authors call it on one image, uint8 [h, w, 3] BGR.

    ``forward``: the keyword arguments of the model's forward. ``image_sizes``: leave the padding out.
    Raises InputError for a task without a reference path.
    """
    placed = reference_input(image, preprocess)
    rule = Preprocess.from_dict(preprocess)
    produced = np.empty((3, *rule.geometry(*image.shape[:2]).tensor_size), np.float32)
    rule.run(image, produced)
    valid = placed.resized if image_sizes else placed.tensor.shape[2:]
    own = _run(model, task, forward, placed.tensor[0], placed, valid)
    tensors = () if np.allclose(own.tensor, produced, rtol=0, atol=EQUAL) else rounded_inputs(own.tensor, produced)
    rounded, explained = [], 0.0
    for tensor in tensors:
        found = _run(model, task, forward, torch.from_numpy(tensor), placed, valid)
        rounded.append(found.result)
        if own.logits is not None and found.logits is not None:
            explained = max(explained, explained_margin(own.logits, found.logits))
    return ReferenceResult(
        placed,
        own=own,
        production=_run(model, task, forward, torch.from_numpy(produced), placed, valid),
        rounded=tuple(rounded),
        explained=explained,
    )


def _run(
    model: nn.Module,
    task: Task,
    forward: Mapping[str, Any],
    tensor: Tensor,
    placed: ReferenceInput,
    valid: tuple[int, ...],
) -> EagerResult:
    """On the part ``valid`` (h, w) of the tensor [3, H, W]; its frame is the tensor's, from the top left."""
    array: NDArray[np.float32] = tensor.numpy()
    given = tensor[:, : valid[0], : valid[1]]
    with torch.inference_mode():
        if isinstance(task, InstanceSegmentation):
            with head_masks(model) as masks:
                found = model([given], **forward)[0]
            return EagerResult(array, _instances(found, masks[0], placed))
        if isinstance(task, Detection):
            found = model([given], **forward)[0]
            detections = detections_in_image(found, placed)
            keypoints = _keypoints(found, detections, placed) if isinstance(task, KeypointDetection) else detections
            return EagerResult(array, keypoints)
        if task.name == "semantic-segmentation":
            logits: NDArray[np.float32] = model_logits(model(given[None], **forward))[0].numpy()
            return EagerResult(array, SegmentationResult(_label_map(logits, placed)), logits)
        if task.name == "super-resolution":
            return EagerResult(array, _restored(model(given[None], **forward)[0], placed))
    raise InputError(f'task "{task.name}": the pipeline comparison has no PyTorch path for it')


def detections_in_image(found: Mapping[str, Tensor], placed: ReferenceInput) -> DetectionResult:
    """torchvision's dictionary of one image, boxes moved to the image and clipped to it."""
    height, width = placed.image
    boxes = _in_image(found["boxes"], placed)
    boxes[:, 0::2].clamp_(0, width)
    boxes[:, 1::2].clamp_(0, height)
    return DetectionResult(boxes.numpy(), found["scores"].numpy(), found["labels"].numpy())


def _instances(found: Mapping[str, Tensor], masks: Tensor, placed: ReferenceInput) -> InstanceSegmentationResult:
    """With the masks [n, 28, 28] before they were pasted; their boxes are not clipped, as they are their frames."""
    boxes = _in_image(found["boxes"], placed)
    return InstanceSegmentationResult(boxes.numpy(), found["scores"].numpy(), found["labels"].numpy(), masks.numpy())


def _keypoints(found: Mapping[str, Tensor], detections: DetectionResult, placed: ReferenceInput) -> KeypointResult:
    """With torchvision's keypoints x, y and their scores."""
    y, x = placed.tensor_per_image
    places = found["keypoints"][..., :2] / torch.tensor((x, y))
    points = torch.cat([places, found["keypoints_scores"][..., None]], dim=-1)
    return KeypointResult(detections.boxes, detections.scores, detections.labels, points.numpy())


def _restored(enlarged: Tensor, placed: ReferenceInput) -> SuperResolutionResult:
    """The enlarged tensor [3, H * s, W * s] as bytes, BGR, without what was enlarged of the padding."""
    scale = enlarged.shape[1] // placed.tensor.shape[2]
    height, width = placed.image
    levels = (enlarged[:, : height * scale, : width * scale].clamp(0, 1) * 255).round().to(torch.uint8)
    return SuperResolutionResult(levels.flip(0).permute(1, 2, 0).contiguous().numpy())


def _in_image(boxes: Tensor, placed: ReferenceInput) -> Tensor:
    """Boxes [n, 4] of the tensor as boxes of the image."""
    y, x = placed.tensor_per_image
    return boxes / torch.tensor((x, y, x, y))


def _label_map(logits: NDArray[np.float32], placed: ReferenceInput) -> NDArray[Any]:
    """The best label of the tensor's pixel that is nearest to each pixel of the image, [h, w]."""
    labels = logits.argmax(axis=0).astype(np.uint8 if len(logits) <= BYTE_CLASSES else np.int32)
    (y, _), (x, _) = nearest_pixels(placed)
    mapped: NDArray[Any] = labels[np.ix_(y, x)]
    return mapped


def nearest_pixels(placed: ReferenceInput) -> tuple[Nearest, Nearest]:
    """For the image's rows, then its columns: the index of the nearest pixel of the tensor, and of the other one.

    The two differ only where the centre of a pixel falls between two of the tensor, within NEAREST_TOLERANCE; either
    is right there.
    """
    axes = []
    for image, resized in zip(placed.image, placed.resized, strict=True):
        place = (2 * np.arange(image, dtype=np.intp) + 1) * resized / (2 * image)
        nearest = place.astype(np.intp)
        beyond = place - nearest
        step = np.where(beyond < NEAREST_TOLERANCE, -1, np.where(beyond > 1 - NEAREST_TOLERANCE, 1, 0))
        axes.append((nearest, np.clip(nearest + step, 0, resized - 1)))
    return axes[0], axes[1]
