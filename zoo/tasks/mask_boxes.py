"""The boxes around masks."""

import numpy as np
from numpy.typing import NDArray


def mask_boxes(masks: NDArray[np.bool_]) -> NDArray[np.float32]:
    """The smallest boxes x1 y1 x2 y2 around masks [n, h, w], float32 [n, 4], in cells; zeros for an empty mask."""
    boxes = np.zeros((len(masks), 4), np.float32)
    for axis, side in ((1, 0), (2, 1)):  # columns, then rows
        used = np.asarray(masks.any(axis=axis))
        boxes[:, side] = used.argmax(axis=1)
        boxes[:, side + 2] = np.where(used.any(axis=1), used.shape[1] - used[:, ::-1].argmax(axis=1), 0)
    return boxes
