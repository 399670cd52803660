"""Objects as masks of the whole image."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from zoo.preprocess import Geometry
from zoo.tasks.class_info import ClassInfo
from zoo.tasks.detection import DetectionResult
from zoo.tasks.instance_masks.result import InstanceMasksResult
from zoo.tasks.instance_segmentation import InstanceSegmentation
from zoo.tasks.mask_boxes import mask_boxes
from zoo.tasks.output_role import OutputRole, Roles
from zoo.tasks.registry import register_task
from zoo.tasks.result import Result
from zoo.tasks.task import Array
from zoo.tensor_spec import TensorSpec


@register_task
class InstanceMasks(InstanceSegmentation):
    """Objects with a mask of the whole tensor each, and boxes that are made of the masks.

    Slots past `num_dets` hold zeros, and label -1. Masks have a resolution of their own, which the model decides.
    """

    name: ClassVar[str] = "instance-masks"
    result_type: ClassVar[type[DetectionResult]] = InstanceMasksResult
    proof_class: ClassVar[str] = "zoo.tasks.instance_masks.proof:InstanceMasksProof"
    output_roles: ClassVar[Roles] = {
        "num_dets": OutputRole.COUNT,
        "scores": OutputRole.SCORES,
        "labels": OutputRole.LABELS,
        "masks": OutputRole.IMAGE_MASKS,
    }
    takes_image_sizes: ClassVar[bool] = False
    gates: ClassVar[Mapping[str, Mapping[str, float]]] = {
        "pipeline": {"logits": 1e-4}  # of the range of the masks' logits: a pixel nearer to 0 may be on either side
    }
    OPTIONS: ClassVar[Mapping[str, type]] = {}

    def __init__(self, classes: Iterable[ClassInfo | Mapping[str, Any]]) -> None:
        super().__init__(classes)

    def _outputs(self, level: str) -> tuple[TensorSpec, ...]:
        if level != "final":
            return ()
        return (
            TensorSpec("num_dets", "int64", ("N",)),
            TensorSpec("scores", "float32", ("N", "K")),
            TensorSpec("labels", "int64", ("N", "K")),
            TensorSpec("masks", "uint8", ("N", "K", "mH", "mW")),
        )

    def _results(self, outputs: Mapping[str, Array], geometries: Sequence[Geometry]) -> list[Result]:
        columns = (outputs[name] for name in ("num_dets", "scores", "labels", "masks"))
        return [
            InstanceMasksResult(
                geometry.boxes_to_image(boxes_in_tensor(masks[:count] != 0, geometry.tensor_size)),
                scores[:count].copy(),
                labels[:count].copy(),
                masks[:count] != 0,
            )
            for count, scores, labels, masks, geometry in zip(*columns, geometries, strict=False)
        ]


def boxes_in_tensor(masks: Array, size: Sequence[int]) -> Array:
    """Boxes float32 [n, 4] around masks bool [n, h, w], in pixels of a tensor of this (height, width)."""
    height, width = (side / cells for side, cells in zip(size, masks.shape[1:], strict=True))
    return mask_boxes(masks) * np.array((width, height, width, height), np.float32)
