"""Outputs as panels beside their image: a map of what has a height and a width, a histogram of what has not."""

from collections.abc import Mapping, Sequence
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.tasks.drawing import draw_text

Array = NDArray[Any]

MOST = 4  # panels: more do not fit beside an image
SIDE = 160  # pixels: the least height of a panel
GAP = 4
BINS = 48
MAP_DIMS = 2
PAPER, INK, BAR = 255, (32, 32, 32), (178, 114, 0)


def beside(image: Array, arrays: Mapping[str, Array]) -> Array:
    """The image, uint8 BGR, and a panel for each of the first MOST arrays. New, with the image's height or SIDE."""
    panels = [_titled(_panel(array, _height(image)), name) for name, array in list(arrays.items())[:MOST]]
    return _row([_enlarged(image), *panels])


def apart(image: Array, reference: Mapping[str, Array], candidate: Mapping[str, Array]) -> tuple[Array | None, str]:
    """The absolute differences of what differs, as `beside` draws arrays, and in words; None where nothing does."""
    differences, words = {}, []
    for name, ours in reference.items():
        theirs = candidate.get(name)
        if theirs is None or theirs.shape != ours.shape:
            words.append(f"{name}: {'missing' if theirs is None else f'{list(theirs.shape)}, not {list(ours.shape)}'}")
        elif not np.array_equal(ours, theirs):
            error = np.abs(ours.astype(np.float64) - theirs.astype(np.float64))
            differences[name] = error
            words.append(
                f"{name}: {np.count_nonzero(error)} of {error.size} values differ, by {error.max():.3g} at most"
            )
    if not (differences or words):
        return None, "all values are equal"
    return beside(image, differences), "; ".join(words)


def _panel(array: Array, height: int) -> Array:
    values = np.nan_to_num(array.astype(np.float64))
    if values.ndim >= MAP_DIMS and min(values.shape[-MAP_DIMS:]) > 1:
        return _map(values.reshape(-1, *values.shape[-MAP_DIMS:]).mean(axis=0), height)
    return _bars(values.reshape(-1), height)


def _map(values: Array, height: int) -> Array:
    """Values [h, w] in colours, the smallest dark and the largest bright."""
    span = np.ptp(values) or 1.0
    levels = np.rint((values - values.min()) / span * 255).astype(np.uint8)
    width = max(1, round(height * values.shape[1] / values.shape[0]))
    enlarged = cv2.resize(levels, (min(width, 4 * height), height), interpolation=cv2.INTER_NEAREST)
    drawn: Array = cv2.applyColorMap(enlarged, cv2.COLORMAP_VIRIDIS)
    return drawn


def _bars(values: Array, height: int) -> Array:
    """How many values lie where between the smallest and the largest."""
    counts, _ = np.histogram(values, bins=BINS)
    canvas = np.full((height, height, 3), PAPER, np.uint8)
    for place, count in enumerate(counts.tolist()):
        left, right = (round(end * height / BINS) for end in (place, place + 1))
        top = height - round(count / max(1, counts.max()) * height * 0.85)  # the title's room is above
        cv2.rectangle(canvas, (left, top), (max(left, right - 2), height), BAR, cv2.FILLED)
    return canvas


def _titled(panel: Array, name: str) -> Array:
    draw_text(panel, name, (0, 0), (PAPER, PAPER, PAPER))
    return panel


def _height(image: Array) -> int:
    return max(SIDE, int(image.shape[0]))


def _enlarged(image: Array) -> Array:
    """A copy, with white below it where it is lower than a panel."""
    canvas = np.full((_height(image), image.shape[1], 3), PAPER, np.uint8)
    canvas[: image.shape[0]] = image
    return canvas


def _row(panels: Sequence[Array]) -> Array:
    gap = np.full((panels[0].shape[0], GAP, 3), PAPER, np.uint8)
    return np.concatenate([part for panel in panels for part in (gap, panel)][1:], axis=1)
