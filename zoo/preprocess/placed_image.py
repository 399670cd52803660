"""An image that was resized, and the tensor that it becomes."""

from typing import NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.preprocess.geometry import Array, Geometry
from zoo.preprocess.image_check import rows_of_pixels

MAX_BYTE = 255


class PlacedImage(NamedTuple):
    """A tensor that is not made yet: the image in it uint8 [h, w, 3] BGR, where it lies, and the byte around it.

    `pad_value`: of all channels, or of red, green and blue.
    """

    resized: Array
    geometry: Geometry
    pad_value: int | tuple[float, float, float]

    def write(self, top: int, left: int, out: NDArray[np.float32]) -> None:
        """Write the tensor from (top, left) on into `out` float32 [3, h, w], RGB, 0..1; every element is written."""
        _, height, width = out.shape
        piece = self.resized[top : top + height, left : left + width]
        rows, columns = piece.shape[:2]
        planes = cv2.split(rows_of_pixels(piece)) if piece.size else ()  # a window may lie in the padding alone
        for channel, plane in enumerate(reversed(planes)):
            place = out[channel, :rows, :columns]
            place[:] = plane  # faster than a division of bytes, which numpy makes floats of piece by piece
            place /= np.float32(MAX_BYTE)
        pad = (np.array(self.pad_value, np.float32) / np.float32(MAX_BYTE)).reshape(-1, 1, 1)
        if columns < width:
            out[:, :rows, columns:] = pad
        if rows < height:
            out[:, rows:] = pad
