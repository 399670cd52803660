"""The operator as ONNX: a Scan over the objects, sizes that depend on the data stay inside its body.

The bicubic resize of a map [P, S, S] to the h x w whole pixels of its box is two matrix products,

    resized = Y @ map @ X.T        Y [h, S + 4], X [w, S + 4], the map's edge repeated twice

with the weights of the four nearest cells in each row: the same numbers as torch's, up to the rounding of float32.
"""

import onnx

from rewriters.ops.graph_builder import GraphBuilder

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


def translate(b: GraphBuilder, maps: str, boxes: str) -> str:
    """-> keypoints float32 [R, P, 3]."""
    body = onnx.compose.add_prefix_graph(_body(), f"{b.prefix}/")
    keypoints: str = b.Scan(maps, boxes, body=body, num_scan_inputs=2)
    return keypoints


def _body() -> onnx.GraphProto:
    axes = "".join(AXIS.replace("$INDEX", index).replace("$", axis) for axis, index in (("x", "zero"), ("y", "one")))
    return onnx.parser.parse_graph(BODY.replace("$AXES", axes))
