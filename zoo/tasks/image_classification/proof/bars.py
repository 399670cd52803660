"""Two sides' scores as bars, one above the other."""

from collections.abc import Sequence

import cv2
import numpy as np

from zoo.tasks.drawing import draw_text
from zoo.tasks.highlight import BOTH, CANDIDATE, REFERENCE
from zoo.tasks.task import Array

ROW = 36  # pixels
BAR = 8


def draw_bars(canvas: Array, rows: Sequence[tuple[str, float, float]]) -> Array:
    """The image faded, and below it for each row (name, PyTorch's score, the backend's) its two bars. A new array."""
    width = canvas.shape[1]
    table = np.full((ROW * len(rows), width, 3), 255, np.uint8)
    for number, (name, *scores) in enumerate(rows):
        bottom = (number + 1) * ROW
        draw_text(table, name, (0, bottom - 2 * BAR - 2), BOTH)
        for place, (score, ink) in enumerate(zip(scores, (REFERENCE, CANDIDATE), strict=True)):
            top = bottom - (2 - place) * BAR
            end = round(float(np.clip(np.nan_to_num(score), 0, 1)) * (width - 1))
            cv2.rectangle(table, (0, top), (end, top + BAR - 2), ink, cv2.FILLED)
    return np.concatenate((canvas, table))
