"""The objects found in one image, each with a mask of the whole image."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.preprocess import Geometry
from zoo.tasks.detection import DetectionResult
from zoo.tasks.instance_segmentation import MasksResult

MASK_DIMS = 3


@dataclass(frozen=True, eq=False, repr=False)
class InstanceMasksResult(MasksResult):
    """A DetectionResult with `masks` bool [n, h, w]: the pixels of each object, in cells of the model's whole tensor.

    A box is the smallest one around its mask, cut off at the image. `image_masks` gives masks in pixels of the image.
    """

    dtypes: ClassVar[Mapping[str, type]] = {**DetectionResult.dtypes, "masks": np.bool_}

    masks: NDArray[np.bool_]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.masks.ndim != MASK_DIMS or len(self.masks) != len(self):
            raise InputError(f"detections: got masks {list(self.masks.shape)}, expected [{len(self)}, h, w]")

    def image_masks(self, height: int, width: int) -> NDArray[np.bool_]:
        """The masks of the image, bool [n, height, width]: of each pixel the nearest one of the tensor, and its cell.

        `height` and `width` are those of the image. Raises InputError for another size than a model was given.
        """
        if self.geometry is not None and self.geometry.image_size != (height, width):
            raise InputError(f"masks of an image {self.geometry.image_size}: got {(height, width)}; give its own size")
        rows, columns = self.masks.shape[1:]
        whole = (rows, columns)  # of a result built by hand: the tensor is the image
        geometry = self.geometry or Geometry((height, width), whole, whole)
        down, across = (
            np.arange(pixels, dtype=np.int32) * cells // pixels
            for pixels, cells in zip(geometry.tensor_size, whole, strict=True)
        )
        cells = geometry.label_map_to_image(down[:, None] * np.int32(columns) + across)
        return self.masks.reshape(len(self), rows * columns)[:, cells]
