"""A proof image as few bytes that still shows what is in it."""

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.input_kinds.image.small_image import to_png
from zoo.preprocess import MAX_BYTE

MOST_BYTES = 100_000  # of the image, so that a self-test keeps below 200 kB
STEPS = ((1, 8), (1, 6), (1, 5), (1, 4), (2, 6), (2, 5), (3, 5), (4, 5), (6, 5), (8, 5), (16, 5))
"""How many times smaller, and how many bits of each colour: fewer bits first, which cost a detector less."""


def reduced(image: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The PNG, bytes [n], of an image uint8 [H, W, 3] BGR as small as it must be: the first of STEPS that fits."""
    png = np.zeros(0, np.uint8)
    for factor, bits in STEPS:
        png = to_png(_with_fewer_colours(_smaller(image, factor), bits))
        if png.size <= MOST_BYTES:
            break
    return png


def _smaller(image: NDArray[np.uint8], factor: int) -> NDArray[np.uint8]:
    if factor == 1:
        return image
    size = (max(1, image.shape[1] // factor), max(1, image.shape[0] // factor))
    return cv2.resize(image, size, interpolation=cv2.INTER_AREA).astype(np.uint8, copy=False)


def _with_fewer_colours(image: NDArray[np.uint8], bits: int) -> NDArray[np.uint8]:
    """Each channel on 2 ** bits levels, from 0 to 255."""
    step = MAX_BYTE / (2**bits - 1)
    fewer: NDArray[np.uint8] = np.rint(np.rint(image / step) * step).astype(np.uint8)
    return fewer
