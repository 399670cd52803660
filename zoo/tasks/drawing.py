"""Boxes, names and colours on images. The functions draw into the array that they are given."""

import colorsys
import functools
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

Color = tuple[int, int, int]

GOLDEN_RATIO = 0.618033988749895
SHADES = ((0.85, 1.0), (1.0, 0.75), (0.5, 1.0))
FONT = cv2.FONT_HERSHEY_SIMPLEX
SMALL_TEXT = 0.38
LARGE_TEXT = 1.0
TEXT_PER_PIXEL = 1 / 1400
PIXELS_PER_LINE = 400
MARGIN = 2
BRIGHT = 140
ROWS_AT_ONCE = 256


@functools.cache
def color(label: int) -> Color:
    """The colour (blue, green, red) of a class id, the same everywhere; neighbouring ids look unlike."""
    saturation, value = SHADES[label // 7 % len(SHADES)]
    red, green, blue = colorsys.hsv_to_rgb(label * GOLDEN_RATIO % 1.0, saturation, value)
    return round(blue * 255), round(green * 255), round(red * 255)


def draw_box(canvas: NDArray[Any], box: NDArray[Any], text: str, ink: Color) -> None:
    """A box x1 y1 x2 y2 (pixels) with a name tag above it, or inside where there is no room above."""
    x1, y1, x2, y2 = (round(float(side)) for side in box)
    cv2.rectangle(canvas, (x1, y1), (x2, y2), ink, _thickness(canvas), cv2.LINE_AA)
    draw_text(canvas, text, (x1, y1), ink)


def draw_quadrilateral(canvas: NDArray[Any], corners: NDArray[Any], text: str, ink: Color) -> None:
    """Four corners [4, 2] (x, y in pixels), in turn around, with a name tag above the topmost one."""
    points = np.rint(corners).astype(np.int32)
    cv2.polylines(canvas, [points], isClosed=True, color=ink, thickness=_thickness(canvas), lineType=cv2.LINE_AA)
    x, y = points[points[:, 1].argmin()].tolist()
    draw_text(canvas, text, (x, y), ink)


def tint(canvas: NDArray[Any], mask: NDArray[np.bool_], ink: Color, opacity: float) -> None:
    """The pixels of a mask [h, w] mixed with a colour, a band of rows after another: floats of a whole photograph are
    gigabytes.
    """
    added = np.float32(opacity) * np.array(ink, np.float32)
    for top in range(0, len(canvas), ROWS_AT_ONCE):
        part, chosen = canvas[top : top + ROWS_AT_ONCE], mask[top : top + ROWS_AT_ONCE]
        part[chosen] = np.rint(part[chosen] * np.float32(1 - opacity) + added)


def draw_dot(canvas: NDArray[Any], place: tuple[float, float], ink: Color) -> None:
    """A filled dot around `place` (x, y)."""
    cv2.circle(canvas, (round(place[0]), round(place[1])), _thickness(canvas) + 1, ink, cv2.FILLED, cv2.LINE_AA)


def draw_text(canvas: NDArray[Any], text: str, place: tuple[int, int], paper: Color, *, centered: bool = False) -> None:
    """Text on a filled tag, standing on `place` (x, y) or centred there, moved inside the image."""
    height, width = canvas.shape[:2]
    size = min(LARGE_TEXT, max(SMALL_TEXT, max(height, width) * TEXT_PER_PIXEL))
    thickness = max(1, round(size * 1.5))
    (text_width, text_height), baseline = cv2.getTextSize(text, FONT, size, thickness)
    tag_width, tag_height = text_width + 2 * MARGIN, text_height + baseline + MARGIN
    left, top = place[0], place[1] - tag_height
    if centered:
        left, top = place[0] - tag_width // 2, place[1] - tag_height // 2
    left, top = max(0, min(left, width - tag_width)), max(0, min(top, height - tag_height))
    cv2.rectangle(canvas, (left, top), (left + tag_width, top + tag_height), paper, cv2.FILLED)
    blue, green, red = paper
    ink = (0, 0, 0) if 0.114 * blue + 0.587 * green + 0.299 * red > BRIGHT else (255, 255, 255)
    spot = (left + MARGIN, top + text_height + MARGIN)
    cv2.putText(canvas, text, spot, FONT, size, ink, thickness, cv2.LINE_AA)


def _thickness(canvas: NDArray[Any]) -> int:
    longest: int = max(canvas.shape[:2])
    return max(1, round(longest / PIXELS_PER_LINE))
