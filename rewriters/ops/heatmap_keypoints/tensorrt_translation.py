"""The operator with standard ONNX operators only and fixed shapes: the resized maps are searched tile by tile.

    tile = Y @ map @ X.T        Y [R, T, S + 4], X [R, T, S + 4], the map's edge repeated twice

with the weights of rewriters.ops.heatmap_keypoints.onnx_translation. A Loop goes over the T x T tiles of the largest
box, keeping the best pixel of each map; pixels outside a box do not count. Of equal values the first pixel, row by row,
wins. Every box pays for the largest one.

Memory: an array of R * P * T * (S + 4) elements, and one of R * P * T * T.
"""

import numpy as np

from rewriters.ops.graph_builder import FLOAT, GraphBuilder

TILE = 32  # pixels
MOST_TILES = 2**16  # in a box; what ends the Loop where a box has no end
LOWEST = np.finfo(np.float32).min
CUBIC = -0.75  # torch's coefficient


def translate(b: GraphBuilder, maps: str, boxes: str) -> str:
    """-> keypoints float32 [R, P, 3]."""
    unit = b.constant(1.0, np.float32)
    low, high = (b.Gather(boxes, b.constant(columns), axis=1) for columns in ([0, 1], [2, 3]))
    size = b.Max(b.Sub(high, low), unit)
    pixels = b.Ceil(size)
    cells = b.size(maps, 3)
    step = b.Div(b.Cast(cells, to=FLOAT), pixels)
    taps = b.Cast(b.Range(b.constant(-2), b.Add(cells, b.constant(2)), b.constant(1)), to=FLOAT)
    padded = b.Pad(maps, b.constant([0, 0, 2, 2, 0, 0, 2, 2]), mode="edge")
    tiles = b.Ceil(b.Div(pixels, b.constant(TILE, np.float32)))  # [R, 2]
    across, down = (b.ReduceMax(_column(b, tiles, axis), keepdims=0) for axis in (0, 1))
    count = b.Mul(across, down)
    counts = [_column(b, pixels, axis) for axis in (0, 1)]
    steps = [_column(b, step, axis) for axis in (0, 1)]

    def tile(inner: GraphBuilder, turn: str, best: str, best_x: str, best_y: str) -> tuple[list[str], str]:
        number = inner.Cast(turn, to=FLOAT)
        row = inner.Floor(inner.Div(inner.Add(number, inner.constant(0.5, np.float32)), across))
        column = inner.Sub(number, inner.Mul(row, across))
        weights, inside, first = [], [], []
        for place, pixel_count, pixel_step in zip((column, row), counts, steps, strict=True):
            first.append(inner.Mul(place, inner.constant(TILE, np.float32)))
            pixel = inner.Add(first[-1], inner.constant(np.arange(TILE), np.float32))
            inside.append(inner.Less(pixel, pixel_count))  # [R, T]
            weights.append(_bicubic(inner, pixel, pixel_step, taps))
        (x_weights, y_weights), (x_inside, y_inside) = weights, inside
        rows = inner.MatMul(inner.Unsqueeze(y_weights, inner.constant([1])), padded)
        turned = inner.Transpose(inner.Unsqueeze(x_weights, inner.constant([1])), perm=[0, 1, 3, 2])
        resized = inner.MatMul(rows, turned)  # [R, P, T, T]
        counted = inner.And(
            inner.Unsqueeze(y_inside, inner.constant([1, 3])), inner.Unsqueeze(x_inside, inner.constant([1, 2]))
        )
        masked = inner.Where(counted, resized, inner.constant(LOWEST, np.float32))
        flat = inner.Reshape(masked, inner.constant([0, 0, TILE * TILE]))
        value, index = inner.TopK(flat, inner.constant([1]), outputs=2)  # [R, P, 1]
        index_y = inner.Div(index, inner.constant(TILE))
        index_x = inner.Sub(index, inner.Mul(index_y, inner.constant(TILE)))
        x, y = (
            inner.Add(inner.Cast(inner_index, to=FLOAT), start)
            for inner_index, start in zip((index_x, index_y), first, strict=True)
        )
        # of tiles side by side an equal value counts only where it lies higher
        same = inner.And(inner.Equal(value, best), inner.Less(y, best_y))
        better = inner.Or(inner.Greater(value, best), same)
        after = [inner.Where(better, new, old) for new, old in ((value, best), (x, best_x), (y, best_y))]
        return after, inner.Less(inner.Add(number, inner.constant(1.0, np.float32)), count)

    nothing = b.Mul(b.Slice(maps, *(b.constant(v) for v in ([0, 0], [1, 1], [2, 3]))), b.constant(0.0, np.float32))
    nothing = b.Squeeze(nothing, b.constant([3]))  # [R, P, 1]
    lowest = b.Add(nothing, b.constant(LOWEST, np.float32))
    value, x, y = b.loop(b.constant(MOST_TILES), [lowest, nothing, nothing], [FLOAT] * 3, tile)
    places = []
    for axis, pixel in enumerate((x, y)):
        scale = b.Div(_column(b, size, axis), _column(b, pixels, axis))
        inside_box = b.Mul(b.Add(pixel, b.constant(0.5, np.float32)), b.Unsqueeze(scale, b.constant([2])))
        places.append(b.Add(inside_box, b.Unsqueeze(_column(b, low, axis), b.constant([2]))))
    keypoints: str = b.Concat(*places, value, axis=2)
    return keypoints


def _column(b: GraphBuilder, values: str, axis: int) -> str:
    """[R, 2] -> [R, 1]."""
    column: str = b.Gather(values, b.constant([axis]), axis=1)
    return column


def _bicubic(b: GraphBuilder, pixel: str, step: str, taps: str) -> str:
    """pixel float32 [T], step [R, 1] cells for a pixel, taps [S + 4] cells -> weights [R, T, S + 4]."""

    def constant(value: float) -> str:
        return b.constant(value, np.float32)

    half, unit = constant(0.5), constant(1.0)
    source = b.Sub(b.Mul(b.Add(pixel, half), step), half)
    far = b.Abs(b.Sub(b.Unsqueeze(source, b.constant([2])), taps))
    near = b.Sub(b.Mul(constant(CUBIC + 2), far), constant(CUBIC + 3))
    near = b.Add(b.Mul(b.Mul(near, far), far), unit)
    outer = b.Sub(b.Mul(constant(CUBIC), far), constant(5 * CUBIC))
    outer = b.Add(b.Mul(outer, far), constant(8 * CUBIC))
    outer = b.Sub(b.Mul(outer, far), constant(4 * CUBIC))
    outer = b.Where(b.Less(far, constant(2.0)), outer, constant(0.0))
    weights: str = b.Where(b.LessOrEqual(far, unit), near, outer)
    return weights
