"""From masks inside boxes to masks of the image."""

import cv2
import numpy as np
from numpy.typing import NDArray

BORDER = 1  # cells of zeros around a mask, so that it fades out at the edge of its box
THRESHOLD = 0.5  # the probability from which a pixel is of the mask


def paste_masks(masks: NDArray[np.float32], boxes: NDArray[np.float32], size: tuple[int, int]) -> NDArray[np.bool_]:
    """Probabilities float32 [n, m, m] inside boxes float32 [n, 4] (x1 y1 x2 y2, pixels) -> bool [n, h, w].

    `size`: (h, w) of the image; a box may reach past it. A pixel is set where its probability is THRESHOLD or more.
    Source: torchvision.models.detection.roi_heads.paste_masks_in_image, in float32 as there, so that a corner is cut
    off to the same pixel.
    """
    pasted = np.zeros((len(masks), *size), dtype=np.bool_)
    padded = np.pad(masks, ((0, 0), (BORDER, BORDER), (BORDER, BORDER)))
    corners = pasted_corners(boxes, masks.shape[-1])
    for canvas, mask, (x1, y1, x2, y2) in zip(pasted, padded, corners.tolist(), strict=True):
        left, right = max(x1, 0), min(x2 + 1, size[1])
        top, bottom = max(y1, 0), min(y2 + 1, size[0])
        if left < right and top < bottom:
            inside = cv2.resize(mask, (max(x2 - x1 + 1, 1), max(y2 - y1 + 1, 1)), interpolation=cv2.INTER_LINEAR)
            canvas[top:bottom, left:right] = inside[top - y1 : bottom - y1, left - x1 : right - x1] >= THRESHOLD
    return pasted


def pasted_corners(boxes: NDArray[np.float32], cells: int) -> NDArray[np.int64]:
    """The first and the last pixel of masks of `cells` x `cells` with their border, int64 [n, 4], in boxes [n, 4]."""
    low, high = boxes[:, :2], boxes[:, 2:]
    half = (high - low) * np.float32(0.5) * np.float32((cells + 2 * BORDER) / cells)
    center = (high + low) * np.float32(0.5)
    return np.concatenate([center - half, center + half], axis=1).astype(np.int64)
