"""The objects found in one image, each with its mask."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.tasks.detection.result import DetectionResult
from zoo.tasks.instance_segmentation.mask_pasting import paste_masks

MASK_SIDE = 28


@dataclass(frozen=True, eq=False)
class InstanceSegmentationResult(DetectionResult):
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
