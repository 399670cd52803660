"""How differences are drawn: on a faded image, so that nothing else catches the eye; the sides differ in colour."""

from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Image = NDArray[Any]

REFERENCE, CANDIDATE = (178, 114, 0), (0, 159, 230)  # BGR: a blue and an orange that colour-blind people tell apart
BOTH = (150, 150, 150)
CHANGED = (200, 60, 255)
FADED = 0.45  # of the image's light
SPOT = 400  # the longest side in pixels of an image in which one pixel is drawn as one


def faded(image: Image) -> Image:
    """A dark grey copy of a uint8 BGR image."""
    grey = cv2.cvtColor(image, cv2.COLOR_BGR2GRAY) * FADED
    return np.ascontiguousarray(np.repeat(grey.astype(np.uint8)[:, :, None], 3, axis=2))


def highlight(canvas: Image, changed: NDArray[np.bool_]) -> None:
    """Draw the pixels into the canvas; those of a large image larger, to be seen when it is shown smaller."""
    side = max(1, max(changed.shape) // SPOT)
    spots = cv2.dilate(changed.astype(np.uint8), np.ones((side, side), np.uint8))
    canvas[spots.astype(np.bool_)] = CHANGED
