"""How the pixels of a resized image are made of those of an image."""

from collections.abc import Mapping
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.preprocess.antialias import FILTERS, antialiased

OPENCV: Mapping[str, int] = {"bilinear": cv2.INTER_LINEAR, "nearest": cv2.INTER_NEAREST, "area": cv2.INTER_AREA}
INTERPOLATIONS = (*OPENCV, *FILTERS)
"""The names of a config's `interpolation`."""


def resampled(image: NDArray[Any], size: tuple[int, int], interpolation: str) -> NDArray[Any]:
    """An image uint8 [h, w, 3] at `size` (H, W). Its pixels must lie side by side in each row."""
    if interpolation in FILTERS:
        return antialiased(np.ascontiguousarray(image), size, interpolation)
    return cv2.resize(image, size[::-1], interpolation=OPENCV[interpolation])
