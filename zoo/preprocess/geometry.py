"""Where an image lies in its tensor, and the way back from there."""

from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.geometry.rotated_boxes import moved

Array = NDArray[Any]


class Geometry(NamedTuple):
    """Where an image lies in its tensor: resized, then placed at the top left. Sizes: (height, width) in pixels.

    `offset`: (top, left) of the tensor in the resized image, of which it may show the centre alone.
    """

    image_size: tuple[int, int]
    resized_size: tuple[int, int]
    tensor_size: tuple[int, int]
    offset: tuple[int, int] = (0, 0)

    @property
    def shown_size(self) -> tuple[int, int]:
        """The part of the tensor, from the top left, that shows the image; the rest is padding."""
        (height, width), (top, left) = self.resized_size, self.offset
        return min(height - top, self.tensor_size[0]), min(width - left, self.tensor_size[1])

    def boxes_to_image(self, boxes: Array, *, clip: bool = True) -> NDArray[np.float32]:
        """Boxes x1 y1 x2 y2 [n, 4] from the tensor's pixels to the image's, clipped to the image. A new array.

        Without `clip` a box may reach past the image, where the tensor was padded.
        """
        placed: NDArray[np.float32] = (boxes.astype(np.float32) + self._offset()) * self._image_per_tensor()
        if not clip:
            return placed
        height, width = self.image_size
        bounds = np.array((width, height, width, height), np.float32)
        clipped: NDArray[np.float32] = np.minimum(np.maximum(placed, np.float32(0), out=placed), bounds, out=placed)
        return clipped

    def rotated_boxes_to_image(self, boxes: Array) -> NDArray[np.float32]:
        """Boxes x y w h angle [n, 5] from the tensor's pixels to the image's. A new array, not clipped.

        See zoo.geometry.rotated_boxes.moved.
        """
        scale, offset = self._image_per_tensor(), self._offset()
        return moved(boxes, (scale[0], scale[1]), (offset[0], offset[1])).astype(np.float32)

    def points_to_image(self, points: Array) -> NDArray[np.float32]:
        """Points [..., 2] (x, y) from the tensor's pixels to the image's. A new array, not clipped."""
        placed: NDArray[np.float32] = (points.astype(np.float32) + self._offset()[:2]) * self._image_per_tensor()[:2]
        return placed

    def label_map_to_image(self, label_map: Array) -> Array:
        """A label map [H, W] of the tensor -> [h, w] of the image: padding cut off, nearest neighbour. A new array.

        The nearest pixel is found between pixel centres, as in the bilinear resize of the image. A pixel of the image
        that the tensor does not show gets the label of the nearest one that it shows.
        """
        height, width = self.shown_size
        valid = label_map[:height, :width]
        if self.shown_size != self.resized_size:
            (top, left), (bottom, right) = self.offset, self.resized_size
            sides = (top, bottom - top - height, left, right - left - width)
            valid = cv2.copyMakeBorder(valid, *sides, cv2.BORDER_REPLICATE)
        if self.resized_size == self.image_size:
            return valid.copy()
        return cv2.resize(valid, self.image_size[::-1], interpolation=cv2.INTER_NEAREST_EXACT)

    def _offset(self) -> NDArray[np.float32]:
        top, left = self.offset
        return np.array((left, top, left, top), np.float32)

    def _image_per_tensor(self) -> NDArray[np.float32]:
        y = self.image_size[0] / self.resized_size[0]
        x = self.image_size[1] / self.resized_size[1]
        return np.array((x, y, x, y), np.float32)
