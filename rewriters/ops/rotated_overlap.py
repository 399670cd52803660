"""How much two rotated boxes share, in ONNX operators: without a sort, an angle or a distinction of cases.

In the frame of box b, b is upright, with corners at (-w/2, -h/2) and (w/2, h/2). A line x = const of box a shares with
b what is left of it after its two ends are clamped to b. So with a's edges in turn, counter-clockwise,

    area(a and b) = - sum over the 4 edges of a of the integral of clamp(y, -h/2, h/2) over clamp(x, -w/2, w/2)

The integral over one edge is the length of its clamped x, times the mean of clamp(y) between the ends that are left:
what lies inside counts by its middle, what lies above by h/2, what lies below by -h/2. Offsets are taken between the
centres first, so that boxes far from the origin are as exact as those near it.
"""

import functools

import numpy as np

from rewriters.ops.graph_builder import GraphBuilder

EDGES = 4  # of a box
FRAME = 6  # columns: x, y, w / 2, h / 2, cos and sin of the angle
ALONG_W, ALONG_H = (1, -1, -1, 1), (1, 1, -1, -1)  # of the corners, counter-clockwise
NEXT_CORNER = (1, 2, 3, 0)


def frames(b: GraphBuilder, boxes: str) -> str:
    """boxes [..., 5] x y w h angle (radians) -> [..., FRAME]. Sides below 0 become 0: no area."""
    center, sides, angle = b.Split(boxes, b.constant([2, 2, 1]), outputs=3, axis=-1)
    halves = b.Mul(b.Max(sides, b.constant(0.0, np.float32)), b.constant(0.5, np.float32))
    result: str = b.Concat(center, halves, b.Cos(angle), b.Sin(angle), axis=-1)
    return result


def columns(b: GraphBuilder, rows: str) -> list[str]:
    """[..., FRAME] -> six of [..., 1]."""
    split: list[str] = b.Split(rows, b.constant([1] * FRAME), outputs=FRAME, axis=-1)
    return split


def overlaps_more(b: GraphBuilder, first: str, second: str, threshold: float) -> str:
    """Frames [..., FRAME] and [..., FRAME], broadcast -> whether their IoU is above `threshold`, bool [...]."""
    intersection, union = intersection_and_union(b, first, second)
    result: str = b.Greater(intersection, b.Mul(union, b.constant(threshold, np.float32)))
    return result


def intersection_and_union(b: GraphBuilder, first: str, second: str) -> tuple[str, str]:
    """Frames [..., FRAME] and [..., FRAME], broadcast -> the areas that they share and cover, float32 [...]."""
    nothing, last, four = b.constant(0.0, np.float32), b.constant([-1]), b.constant(4.0, np.float32)
    ours, theirs = columns(b, first), columns(b, second)
    x, y = _corners(b, ours, theirs)
    width, height = theirs[2:4]
    shares = b.Mul(*_clamped_edges(b, x, y, width, height))
    # not ReduceSum: over a negative axis of no rows, ONNX Runtime 1.30 and 1.31 give the shape of what goes in
    by_edge = b.Split(shares, b.constant([1] * EDGES), outputs=EDGES, axis=-1)
    total = b.Squeeze(functools.reduce(b.Add, by_edge), last)
    intersection = b.Relu(b.Neg(total))
    areas = [b.Squeeze(b.Mul(b.Mul(box[2], box[3]), four), last) for box in (ours, theirs)]
    return intersection, b.Max(b.Sub(b.Add(*areas), intersection), nothing)


def _corners(b: GraphBuilder, box: list[str], frame: list[str]) -> tuple[str, str]:
    """-> x and y [..., 4] of the corners of `box`, in the frame of the other."""
    (x, y, width, height, cos, sin), (frame_x, frame_y, _, _, frame_cos, frame_sin) = box, frame
    across, up = b.Sub(x, frame_x), b.Sub(y, frame_y)
    center_x = b.Add(b.Mul(across, frame_cos), b.Mul(up, frame_sin))
    center_y = b.Sub(b.Mul(up, frame_cos), b.Mul(across, frame_sin))
    turned_cos = b.Add(b.Mul(cos, frame_cos), b.Mul(sin, frame_sin))
    turned_sin = b.Sub(b.Mul(sin, frame_cos), b.Mul(cos, frame_sin))
    along_w, along_h = b.constant(ALONG_W, np.float32), b.constant(ALONG_H, np.float32)
    w, h = b.Mul(width, along_w), b.Mul(height, along_h)  # [..., 4]
    corner_x = b.Add(center_x, b.Sub(b.Mul(w, turned_cos), b.Mul(h, turned_sin)))
    corner_y = b.Add(center_y, b.Add(b.Mul(w, turned_sin), b.Mul(h, turned_cos)))
    return corner_x, corner_y


def _clamped_edges(b: GraphBuilder, x: str, y: str, half_w: str, half_h: str) -> tuple[str, str]:
    """Corners [..., 4] -> of the edge after each: how far its clamped x goes, and the mean of its clamped y."""
    nothing, one = b.constant(0.0, np.float32), b.constant(1.0, np.float32)
    left, bottom = b.Neg(half_w), b.Neg(half_h)
    next_corner = b.constant(NEXT_CORNER)
    next_x, next_y = (b.Gather(corner, next_corner, axis=-1) for corner in (x, y))
    across, up = b.Sub(next_x, x), b.Sub(next_y, y)
    divisor = b.Where(b.Equal(across, nothing), one, across)  # an upright edge covers no x: its y has no weight
    ends_x, ends_y = [], []
    for corner in (x, next_x):
        end = b.Min(b.Max(corner, left), half_w)
        part = b.Min(b.Max(b.Div(b.Sub(end, x), divisor), nothing), one)
        ends_x.append(end)
        ends_y.append(b.Add(y, b.Mul(part, up)))
    return b.Sub(ends_x[1], ends_x[0]), _mean_of_clamped(b, ends_y[0], ends_y[1], bottom, half_h)


def _mean_of_clamped(b: GraphBuilder, start: str, end: str, bottom: str, top: str) -> str:
    """The mean of clamp(y, bottom, top) for y from `start` to `end`, with bottom = -top."""
    nothing, one, half = (b.constant(value, np.float32) for value in (0.0, 1.0, 0.5))
    low, high = b.Min(start, end), b.Max(start, end)
    inner_low, inner_high = (b.Min(b.Max(y, bottom), top) for y in (low, high))
    inside = b.Mul(b.Sub(inner_high, inner_low), b.Mul(b.Add(inner_low, inner_high), half))
    above = b.Sub(b.Max(high, top), b.Max(low, top))  # exactly the length where all of it is, however small that is
    below = b.Sub(b.Min(high, bottom), b.Min(low, bottom))
    length = b.Sub(high, low)
    level = b.Equal(length, nothing)
    total = b.Add(inside, b.Mul(b.Sub(above, below), top))
    mean: str = b.Where(level, inner_low, b.Div(total, b.Where(level, one, length)))
    return mean
