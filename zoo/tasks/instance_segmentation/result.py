"""The objects found in one image, each with its mask."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.tasks.detection.result import DetectionResult
from zoo.tasks.instance_segmentation.mask_pasting import paste_masks
from zoo.tasks.instance_segmentation.sampled_pasting import sampled_masks
from zoo.tasks.run_lengths import run_lengths

MASK_SIDE = 28


@dataclass(frozen=True, eq=False, repr=False)
class MasksResult(DetectionResult):
    """A DetectionResult whose objects have masks: a subclass has them as an array, and makes those of the image."""

    columns: ClassVar[Mapping[str, str]] = {**DetectionResult.columns, "mask": "string"}

    def image_masks(self, height: int, width: int) -> NDArray[np.bool_]:
        """The masks in pixels of the image, bool [n, height, width]. `height` and `width` are those of the image."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """As of detections, each with "mask": COCO's run lengths of the image's size."""
        content = super().to_dict()
        for each, mask in zip(content["objects"], self._run_lengths(), strict=True):
            each["mask"] = mask
        return content

    def rows(self) -> list[dict[str, Any]]:
        """One for each object; "mask" is the text of COCO's run lengths."""
        return [row | {"mask": row["mask"] and row["mask"]["counts"]} for row in super().rows()]

    def to_coco(self, image_id: int) -> list[dict[str, Any]]:
        """COCO's results: {image_id, category_id, score, segmentation}. COCO takes boxes from the masks."""
        return self._coco(image_id, segmentation=self._run_lengths())

    def to_supervision(self) -> Any:
        """`supervision.Detections` with masks."""
        detections = super().to_supervision()
        detections.mask = self.image_masks(*self._image_size())
        return detections

    def _run_lengths(self) -> list[dict[str, Any] | None]:
        """Of each mask, None where its box is not finite."""
        size = self._image_size()
        finite = np.asarray(np.isfinite(self.boxes).all(axis=1))
        return [
            run_lengths(self[place : place + 1].image_masks(*size)[0]) if finite[place] else None
            for place in range(len(self))
        ]

    def _image_size(self) -> tuple[int, int]:
        """(height, width)."""
        if self.geometry is None:
            raise InputError("masks built by hand do not have the size of their image; use image_masks(height, width)")
        size: tuple[int, int] = self.geometry.image_size
        return size


@dataclass(frozen=True, eq=False, repr=False)
class InstanceSegmentationResult(MasksResult):
    """A DetectionResult with `masks` float32 [n, 28, 28]: the probability of the object in each cell of its box.

    A box is the frame of its mask, so it is not cut off at the image: where the model's tensor was padded it may reach
    past the right and bottom edges. `image_masks` gives masks in pixels of the image.
    """

    masks: NDArray[np.float32]

    def __post_init__(self) -> None:
        super().__post_init__()
        expected = (len(self), MASK_SIDE, MASK_SIDE)
        if self.masks.shape != expected:
            raise InputError(f"detections: got masks {list(self.masks.shape)}, expected {list(expected)}")

    def image_masks(self, height: int, width: int) -> NDArray[np.bool_]:
        """The masks pasted to the image: bool [n, height, width], true where the probability is 0.5 or more.

        `height` and `width` are those of the image. To its threshold the same as torchvision's own masks.
        """
        return paste_masks(self.masks, self.boxes, (height, width))


@dataclass(frozen=True, eq=False, repr=False)
class SampledMasksResult(InstanceSegmentationResult):
    """As InstanceSegmentationResult, with mmdetection's rule of pasting: boxes are not cut off to whole pixels."""

    def image_masks(self, height: int, width: int) -> NDArray[np.bool_]:
        """As there, by sampling the mask at the centre of each pixel."""
        return sampled_masks(self.masks, self.boxes, (height, width))
