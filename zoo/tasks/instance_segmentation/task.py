"""Objects as boxes with masks."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np

from zoo.errors import InputError
from zoo.preprocess import Geometry
from zoo.tasks.class_info import ClassInfo
from zoo.tasks.detection import Detection, DetectionResult
from zoo.tasks.instance_segmentation.result import (
    MASK_SIDE,
    InstanceSegmentationResult,
    MasksResult,
    SampledMasksResult,
)
from zoo.tasks.output_role import OutputRole, Roles
from zoo.tasks.registry import register_task
from zoo.tasks.result import Result
from zoo.tasks.saving import Parts, npz
from zoo.tasks.task import Array
from zoo.tensor_spec import TensorSpec

OPACITY = 0.5


@register_task
class InstanceSegmentation(Detection):
    """Detections with a mask each: probabilities in 28 x 28 cells of the box. Empty slots have masks of zeros.

    `image_masks`: the graph pastes the masks to its own input as well, for those who run the file by themselves.
    Results do not use them: pasted at the size of the image itself, a mask has finer edges.
    `sampled_masks`: results paste masks by mmdetection's rule instead of torchvision's (see SampledMasksResult).
    """

    name: ClassVar[str] = "instance-segmentation"
    metric: ClassVar[str] = "CocoMaskAP"
    truth: ClassVar[tuple[str, ...]] = ("boxes", "labels", "masks")
    result_type: ClassVar[type[DetectionResult]] = InstanceSegmentationResult
    proof_class: ClassVar[str] = "zoo.tasks.instance_segmentation.proof:InstanceSegmentationProof"
    output_roles: ClassVar[Roles] = {
        **Detection.output_roles,
        "masks": OutputRole.MASKS,
        "image_masks": OutputRole.IMAGE_MASKS,
    }
    suffixes: ClassVar[tuple[str, ...]] = (".json", ".npz")
    OPTIONS: ClassVar[Mapping[str, type]] = {"image_masks": bool, "sampled_masks": bool}

    def __init__(
        self,
        classes: Iterable[ClassInfo | Mapping[str, Any]],
        *,
        image_masks: bool = False,
        sampled_masks: bool = False,
    ) -> None:
        super().__init__(classes)
        if image_masks and sampled_masks:
            raise InputError(
                "task: got image_masks and sampled_masks; the graph pastes by torchvision's rule alone, leave one of "
                "them out"
            )
        self.image_masks, self.sampled_masks = image_masks, sampled_masks

    @property
    def own_result_type(self) -> type[InstanceSegmentationResult]:
        """Of its results: the one with the rule by which masks are pasted."""
        kind = SampledMasksResult if self.sampled_masks else self.result_type
        return cast("type[InstanceSegmentationResult]", kind)

    def files(self, image: Array, result: DetectionResult) -> Iterator[tuple[str, bytes]]:
        """Those of the detections, and their masks: `masks` bool [n, h, w] of the image's size.

        One mask is pasted after another: all of a large photograph are gigabytes.
        """
        assert isinstance(result, MasksResult)
        yield from super().files(image, result)
        height, width = image.shape[:2]
        masks = (result[place : place + 1].image_masks(height, width) for place in range(len(result)))
        yield ".npz", npz({"masks": Parts((len(result), height, width), np.dtype(bool), masks)})

    def _draw(self, image: Array, result: DetectionResult) -> Array:
        """Masks and boxes in the colour of their class, with name and score; the best lie on top."""
        assert isinstance(result, MasksResult)
        from zoo.tasks.drawing import color, tint  # most processes never draw

        canvas = image.copy()
        for place in reversed(range(len(result))):  # not all at once, as above
            mask, label = result[place : place + 1].image_masks(*image.shape[:2])[0], int(result.labels[place])
            tint(canvas, mask, color(label), OPACITY)
        return super()._draw(canvas, result)

    def _outputs(self, level: str) -> tuple[TensorSpec, ...]:
        specs = super()._outputs(level)
        if level == "final":
            specs += (TensorSpec("masks", "float32", ("N", "K", MASK_SIDE, MASK_SIDE)),)
            if self.image_masks:
                specs += (TensorSpec("image_masks", "uint8", ("N", "K", "H", "W")),)
        return specs

    def _results(self, outputs: Mapping[str, Array], geometries: Sequence[Geometry]) -> list[Result]:
        return [
            self.own_result_type(
                geometry.boxes_to_image(boxes[:count], clip=False),  # the frame of the mask
                scores[:count].copy(),
                labels[:count].copy(),
                masks[:count].copy(),
            )
            for count, boxes, scores, labels, masks, geometry in zip(
                *(outputs[name] for name in ("num_dets", "boxes", "scores", "labels", "masks")),
                geometries,
                strict=False,
            )
        ]
