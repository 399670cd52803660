"""From masks inside boxes to masks of the image, by sampling: mmdetection's rule."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float32]


def sampled_masks(masks: Floats, boxes: Floats, size: tuple[int, int], threshold: float = 0.5) -> NDArray[np.bool_]:
    """Probabilities float32 [n, m, m] inside boxes float32 [n, 4] (x1 y1 x2 y2, pixels) -> bool [n, h, w].

    The centre of each pixel is sampled between the four cells around it, which are zero outside the box. A pixel is set
    where its probability is `threshold` or more. `size`: (h, w) of the image; a box may reach past it. Nothing is cut
    off to whole pixels, as paste_masks does. Source: mmdetection's FCNMaskHead, `_do_paste_mask`, in float32 as there.
    """
    sampled = np.zeros((len(masks), *size), dtype=np.bool_)
    for canvas, mask, (x1, y1, x2, y2) in zip(sampled, masks, boxes, strict=True):
        rows, (top, bottom) = _weights(y1, y2, size[0], len(mask))
        columns, (left, right) = _weights(x1, x2, size[1], len(mask))
        canvas[top:bottom, left:right] = rows @ mask @ columns.T >= threshold
    return sampled


def _weights(low: np.float32, high: np.float32, pixels: int, cells: int) -> tuple[Floats, tuple[int, int]]:
    """Along one axis, how much each cell counts for a pixel, [p, cells], and the first of these p pixels and their end.

    A box without a length is sampled at its middle.
    """
    centres = np.arange(pixels, dtype=np.float32) + np.float32(0.5)
    with np.errstate(divide="ignore", invalid="ignore"):
        place = (centres - low) / (high - low) * np.float32(2) - np.float32(1)
    place = np.where(np.isinf(place), np.float32(0), place)
    cell = ((place + np.float32(1)) * np.float32(cells) - np.float32(1)) * np.float32(0.5)
    inside = np.flatnonzero((cell > -1) & (cell < cells))
    first, end = (int(inside[0]), int(inside[-1]) + 1) if len(inside) else (0, 0)
    distance = np.abs(cell[first:end, None] - np.arange(cells, dtype=np.float32))
    return np.maximum(np.float32(1) - distance, np.float32(0)), (first, end)
