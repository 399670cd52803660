"""The small image of which super-resolution is to make the large one again."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image


def trimmed(image: NDArray[Any], scale: int) -> NDArray[Any]:
    """The image [h, w, ...] without the rows below and the columns to the right that `scale` does not divide."""
    height, width = (side // scale * scale for side in image.shape[:2])
    return image[:height, :width]


def low_resolution(image: NDArray[np.uint8], scale: int) -> NDArray[np.uint8]:
    """uint8 [h * scale, w * scale, 3] -> [h, w, 3]: bicubic with antialiasing, by Pillow, rounded to bytes.

    The cubic kernel (a = -0.5) is `scale` times as wide as for enlarging, so that no detail folds into another: the
    downscale of most papers, which is MATLAB's imresize. Pillow computes in whole numbers: the same bytes everywhere.
    """
    height, width = (side // scale for side in image.shape[:2])
    small = Image.fromarray(np.ascontiguousarray(image)).resize((width, height), Image.Resampling.BICUBIC)
    return np.asarray(small)
