"""Where an image lies in its tensor, and the way back from there."""

from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


class Geometry(NamedTuple):
    """Where an image lies in its tensor: resized, then placed at the top left. Sizes: (height, width) in pixels."""

    image_size: tuple[int, int]
    resized_size: tuple[int, int]
    tensor_size: tuple[int, int]

    def boxes_to_image(self, boxes: Array, *, clip: bool = True) -> NDArray[np.float32]:
        """Boxes x1 y1 x2 y2 [n, 4] from the tensor's pixels to the image's, clipped to the image. A new array.

        Without `clip` a box may reach past the image, where the tensor was padded.
        """
        moved: NDArray[np.float32] = boxes.astype(np.float32) * self._image_per_tensor()
        if not clip:
            return moved
        height, width = self.image_size
        bounds = np.array((width, height, width, height), np.float32)
        clipped: NDArray[np.float32] = np.minimum(np.maximum(moved, np.float32(0), out=moved), bounds, out=moved)
        return clipped

    def boxes_to_tensor(self, boxes: Array) -> NDArray[np.float32]:
        """Boxes x1 y1 x2 y2 [n, 4] from the image's pixels to the tensor's. A new array, not clipped."""
        moved: NDArray[np.float32] = boxes.astype(np.float32) / self._image_per_tensor()
        return moved

    def points_to_image(self, points: Array) -> NDArray[np.float32]:
        """Points [..., 2] (x, y) from the tensor's pixels to the image's. A new array, not clipped."""
        moved: NDArray[np.float32] = points.astype(np.float32) * self._image_per_tensor()[:2]
        return moved

    def label_map_to_image(self, label_map: Array) -> Array:
        """A label map [H, W] of the tensor -> [h, w] of the image: padding cut off, nearest neighbour. A new array.

        The nearest pixel is found between pixel centres, as in the bilinear resize of the image.
        """
        height, width = self.resized_size
        valid = label_map[:height, :width]
        if self.resized_size == self.image_size:
            return valid.copy()
        return cv2.resize(valid, self.image_size[::-1], interpolation=cv2.INTER_NEAREST_EXACT)

    def _image_per_tensor(self) -> NDArray[np.float32]:
        y = self.image_size[0] / self.resized_size[0]
        x = self.image_size[1] / self.resized_size[1]
        return np.array((x, y, x, y), np.float32)
