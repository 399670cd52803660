"""zooport::heatmap_keypoints, the best place of each heatmap of an object, at the resolution of the object's box.

The bicubic resize of a map [P, S, S] to the h x w whole pixels of its box is two matrix products,

    resized = Y @ map @ X.T        Y [h, S + 4], X [w, S + 4], the map's edge repeated twice

with the weights of the four nearest cells in each row: the same numbers as torch's, up to the rounding of float32.

In ONNX Runtime's operators, a Scan over the objects: sizes that depend on the data stay inside its body.
In standard operators, fixed shapes, the resized maps are searched tile by tile: X and Y [R, T, S + 4]. A Loop goes
over the T x T tiles of the largest box, keeping the best pixel of each map; pixels outside a box do not count. Of equal
values the first pixel, row by row, wins. Every box pays for the largest one. Memory: an array of R * P * T * (S + 4)
elements, and one of R * P * T * T.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import torch
from torch import Tensor
from torchvision.models.detection.roi_heads import heatmaps_to_keypoints

from rewriters.ops.graph_builder import FLOAT, GraphBuilder
from rewriters.ops.operator import Operator, register
from rewriters.patching.constants import untraced
from zoo.dialect import RUNTIME, STANDARD

TILE = 32  # pixels
MOST_TILES = 2**16  # in a box; what ends the Loop where a box has no end
LOWEST = np.finfo(np.float32).min
CUBIC = -0.75  # torch's coefficient
BODY = """
body (float[P, S, S] map, float[4] box) => (float[P, 3] keypoints) {
    zero = Constant <value_int = 0> ()
    one = Constant <value_int = 1> ()
    two = Constant <value_int = 2> ()
    minus_two = Constant <value_int = -2> ()
    half = Constant <value_float = 0.5> ()
    unit = Constant <value_float = 1.0> ()
    twice = Constant <value_float = 2.0> ()
    nothing = Constant <value_float = 0.0> ()
    a = Constant <value_float = -0.75> ()
    a_2 = Constant <value_float = 1.25> ()
    a_3 = Constant <value_float = 2.25> ()
    a_4 = Constant <value_float = -3.0> ()
    a_5 = Constant <value_float = -3.75> ()
    a_8 = Constant <value_float = -6.0> ()
    upright = Constant <value_ints = [-1, 1]> ()
    by_point = Constant <value_ints = [0, -1]> ()
    edges = Constant <value_ints = [0, 2, 2, 0, 2, 2]> ()
    first = Constant <value_ints = [0, 1]> ()
    last = Constant <value_ints = [2, 3]> ()

    low = Gather (box, first)
    high = Gather (box, last)
    side = Sub (high, low)
    size = Max (side, unit)
    pixels = Ceil (size)
    shape = Shape (map)
    cells = Gather (shape, one)
    cells_float = Cast <to = 1> (cells)
    step = Div (cells_float, pixels)
    counts = Cast <to = 7> (pixels)
    end = Add (cells, two)
    tap_numbers = Range (minus_two, end, one)
    taps = Cast <to = 1> (tap_numbers)
    padded = Pad <mode = "edge"> (map, edges)
$AXES
    rows = MatMul (y_weights, padded)
    x_turned = Transpose <perm = [1, 0]> (x_weights)
    resized = MatMul (rows, x_turned)
    flat = Reshape (resized, by_point)
    best = ArgMax <axis = 1, keepdims = 1> (flat)
    score = GatherElements <axis = 1> (flat, best)
    column = Mod (best, x_count)
    row = Div (best, x_count)
    pixel = Concat <axis = 1> (column, row)
    pixel_float = Cast <to = 1> (pixel)
    center = Add (pixel_float, half)
    correction = Div (size, pixels)
    inside = Mul (center, correction)
    place = Add (inside, low)
    keypoints = Concat <axis = 1> (place, score)
}
"""
AXIS = """
    $_count = Gather (counts, $INDEX)
    $_step = Gather (step, $INDEX)
    $_numbers = Range (zero, $_count, one)
    $_float = Cast <to = 1> ($_numbers)
    $_center = Add ($_float, half)
    $_scaled = Mul ($_center, $_step)
    $_source = Sub ($_scaled, half)
    $_upright = Reshape ($_source, upright)
    $_offset = Sub ($_upright, taps)
    $_far = Abs ($_offset)
    $_near_1 = Mul (a_2, $_far)
    $_near_2 = Sub ($_near_1, a_3)
    $_near_3 = Mul ($_near_2, $_far)
    $_near_4 = Mul ($_near_3, $_far)
    $_near = Add ($_near_4, unit)
    $_next_1 = Mul (a, $_far)
    $_next_2 = Sub ($_next_1, a_5)
    $_next_3 = Mul ($_next_2, $_far)
    $_next_4 = Add ($_next_3, a_8)
    $_next_5 = Mul ($_next_4, $_far)
    $_next = Sub ($_next_5, a_4)
    $_is_near = LessOrEqual ($_far, unit)
    $_is_next = Less ($_far, twice)
    $_outer = Where ($_is_next, $_next, nothing)
    $_weights = Where ($_is_near, $_near, $_outer)
"""


@torch.library.custom_op("zooport::heatmap_keypoints", mutates_args=())
def heatmap_keypoints(maps: Tensor, boxes: Tensor) -> Tensor:
    """maps float32 [R, P, S, S], boxes float32 [R, 4] x1 y1 x2 y2 in pixels -> [R, P, 3]: x, y, and the map's value.

    A map is resized to the whole pixels of its box, bicubically; its largest pixel is the keypoint.
    Source: torchvision.models.detection.roi_heads.heatmaps_to_keypoints.
    """
    points, scores = untraced(lambda: heatmaps_to_keypoints(maps, boxes))  # it takes another way where a tracer looks
    return torch.cat([points[..., :2], scores[..., None]], dim=-1)


@heatmap_keypoints.register_fake
def _(maps: Tensor, boxes: Tensor) -> Tensor:
    return maps.new_empty((maps.shape[0], maps.shape[1], 3))


def runtime_form(b: GraphBuilder, maps: str, boxes: str) -> str:
    """-> keypoints float32 [R, P, 3]."""
    body = onnx.compose.add_prefix_graph(_body(), f"{b.prefix}/")
    keypoints: str = b.Scan(maps, boxes, body=body, num_scan_inputs=2)
    return keypoints


def _body() -> onnx.GraphProto:
    axes = "".join(AXIS.replace("$INDEX", index).replace("$", axis) for axis, index in (("x", "zero"), ("y", "one")))
    return onnx.parser.parse_graph(BODY.replace("$AXES", axes))


def standard_form(b: GraphBuilder, maps: str, boxes: str) -> str:
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


def _result_type(tensors: Sequence[Any], _values: Mapping[str, Any]) -> Any:
    known = tensors[0].type().sizes()
    return tensors[0].type().with_sizes([None, None if known is None else known[1], 3])


register(
    Operator(
        torch.ops.zooport.heatmap_keypoints.default,
        _result_type,
        {RUNTIME: runtime_form, STANDARD: standard_form},
    )
)
