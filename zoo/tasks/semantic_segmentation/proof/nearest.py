"""From the tensor's pixels to the image's, as the reference does it."""

import numpy as np
from numpy.typing import NDArray

from zoo.input_kinds.image.reference_input import ReferenceInput

# OpenCV 4 counts places in steps of 2 ** -16 for each pixel: 0.006 at the 400th. OpenCV 5 is exact.
NEAREST_TOLERANCE = 0.01
Nearest = tuple[NDArray[np.intp], NDArray[np.intp]]


def nearest_pixels(placed: ReferenceInput) -> tuple[Nearest, Nearest]:
    """For the image's rows, then its columns: the index of the nearest pixel of the tensor, and of the other one.

    Of a tensor that shows the centre of the image alone: the nearest one that there is.
    The two differ only where the centre of a pixel falls between two of the tensor, within NEAREST_TOLERANCE; either
    is right there.
    """
    axes = []
    for image, resized, start, shown in zip(placed.image, placed.resized, placed.offset, placed.shown, strict=True):
        place = (2 * np.arange(image, dtype=np.intp) + 1) * resized / (2 * image)
        nearest = place.astype(np.intp)
        beyond = place - nearest
        step = np.where(beyond < NEAREST_TOLERANCE, -1, np.where(beyond > 1 - NEAREST_TOLERANCE, 1, 0))
        both = nearest - start, np.clip(nearest + step, 0, resized - 1) - start
        axes.append((np.clip(both[0], 0, shown - 1), np.clip(both[1], 0, shown - 1)))
    return axes[0], axes[1]
