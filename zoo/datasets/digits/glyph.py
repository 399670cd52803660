"""One handwritten digit of 8x8 cells as a smooth, warped stroke of any size (numpy and OpenCV only)."""

import math

import cv2
import numpy as np
from numpy.typing import NDArray

CELLS = 8  # the side of a digit of scikit-learn, in cells
PADDING = 2  # empty cells around it, so that a warped stroke is not cut off
ZOOM = 16  # pixels of the smooth source image for each cell
MAX_ROTATION = 15.0  # degrees
MAX_SHEAR = 0.2
MAX_PERSPECTIVE = 0.12  # change of scale across the glyph
ELASTIC_CELLS = 0.15  # standard deviation of the elastic displacement, in cells
ELASTIC_GRID = 4
VISIBLE = 0.5  # opacity above which a pixel belongs to the stroke


def draw_glyph(cells: NDArray[np.float32], height: float, rng: np.random.Generator) -> NDArray[np.float32]:
    """A digit float32 [8, 8] in 0..1 -> the opacity of its stroke float32 [h, w] in 0..1, cropped to the stroke.

    `height` in pixels is that of the 8 cells before warping. The result depends on the arguments and the state of `rng`
    alone.
    """
    source = cv2.resize(np.pad(cells, PADDING), None, fx=ZOOM, fy=ZOOM, interpolation=cv2.INTER_CUBIC)
    source = cv2.GaussianBlur(source, (0, 0), 0.2 * ZOOM)
    cell_x = height / CELLS * rng.uniform(0.85, 1.25)  # pixels for each cell
    cell_y = height / CELLS
    side = math.ceil((CELLS + 2 * PADDING) * max(cell_x, cell_y) * 1.15)
    ys, xs = np.mgrid[:side, :side].astype(np.float32) - np.float32((side - 1) / 2)
    angle = math.radians(rng.uniform(-MAX_ROTATION, MAX_ROTATION))
    shear = rng.uniform(-MAX_SHEAR, MAX_SHEAR)
    tilt_x, tilt_y = rng.uniform(-MAX_PERSPECTIVE, MAX_PERSPECTIVE, 2) / side
    depth = 1 + tilt_x * xs + tilt_y * ys
    u = (math.cos(angle) * xs + math.sin(angle) * ys) / depth
    v = (math.cos(angle) * ys - math.sin(angle) * xs) / depth
    elastic = rng.normal(0, ELASTIC_CELLS, (ELASTIC_GRID, ELASTIC_GRID, 2)).astype(np.float32)
    bend = cv2.resize(elastic, (side, side), interpolation=cv2.INTER_CUBIC)
    centre = (CELLS / 2 + PADDING) * ZOOM - 0.5
    map_x = ((u + shear * v) / cell_x + bend[..., 0]) * ZOOM + centre
    map_y = (v / cell_y + bend[..., 1]) * ZOOM + centre
    ink = cv2.remap(source, map_x.astype(np.float32), map_y.astype(np.float32), cv2.INTER_LINEAR)
    threshold = rng.uniform(0.36, 0.5)  # the lower, the bolder
    edge = max(1.0, 0.7 * cell_y)  # about one pixel from clear to opaque
    opacity = np.clip((ink - threshold) * edge + VISIBLE, 0, 1).astype(np.float32)
    rows = np.flatnonzero((opacity > VISIBLE).any(axis=1))
    columns = np.flatnonzero((opacity > VISIBLE).any(axis=0))
    return np.ascontiguousarray(opacity[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1])
