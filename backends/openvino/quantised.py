"""Three patterns of quantised graphs that OpenVINO's low-precision passes get wrong, kept out of their reach.

All are of OpenVINO 2026.4.1, and tests fail when a version no longer needs them (tests/backends/openvino/
test_quantised.py, tests/tools/test_deploy_openvino.py). The passes move scales forward over a padding by -inf, which
int8 does not hold, and refuse the model, as the R-CNNs'. A sum of one channel with several, of sizes that vary, is
fused into the convolution before it, which then stops, or gives an empty tensor, as SRCNN's. And the rounding behind a
concatenation, or behind a Relu or a sum or product with a constant that follows it, is moved into the parts, whose
numbers are then wrong: a detector loses 18 points of box AP.

What stands between is a maximum with the smallest float: no pass moves anything over it, and it changes no number.
"""

from typing import Any

import numpy as np
import openvino
from openvino import opset13

LOWEST = np.finfo(np.float32).min
CHANNEL_AXIS = 1
PAD_VALUE = 3  # the input of a Pad
ELEMENTWISE = (
    *("Clamp", "Convert", "Identity", "Maximum", "Minimum", "Relu"),  # some do nothing, and are dropped by the passes
    *("Add", "Divide", "Multiply", "Subtract"),
)


def guard_quantised(model: openvino.Model) -> int:
    """Put a barrier before each such place of the model; how many there are."""
    count = 0
    for node in model.get_ordered_ops():
        for index in _endangered(node):
            source = node.input_value(index)
            node.input(index).replace_source_output(opset13.maximum(source, LOWEST).output(0))
            count += 1
    return count


def _endangered(node: Any) -> list[int]:
    """The inputs that the passes must not reach."""
    kind = node.get_type_name()
    if kind == "Pad" and node.get_input_size() > PAD_VALUE and _floats(node.input_value(0)):
        value = _constant(node.input_value(PAD_VALUE))
        return [0] if value is not None and not np.isfinite(value).all() else []
    if kind == "FakeQuantize":
        return [0] if _is_joined(node.input_value(0).get_node()) else []
    if kind == "Add" and _floats(node.input_value(0)):
        sides = [node.input_value(index) for index in range(2)]
        channels = [_channels(side) for side in sides]
        if None in channels or any(_constant(side) is not None for side in sides):
            return []
        return [index for index in range(2) if channels[index] == 1 != channels[1 - index]]
    return []


def _is_joined(node: Any) -> bool:
    """Whether it is a concatenation, or follows one by operators on each number alone."""
    while node.get_type_name() in ELEMENTWISE:
        sources = [value.get_node() for value in node.input_values() if _constant(value) is None]
        if len(sources) != 1:
            return False
        (node,) = sources
    return bool(node.get_type_name() == "Concat")


def _floats(value: Any) -> bool:
    return bool(value.get_element_type() == openvino.Type.f32)


def _constant(value: Any) -> Any | None:
    node = value.get_node()
    return node.get_data() if node.get_type_name() == "Constant" else None


def _channels(value: Any) -> int | None:
    """The fixed size of the channel axis, None for another."""
    shape = value.get_partial_shape()
    if shape.rank.is_dynamic or shape.rank.get_length() <= CHANNEL_AXIS or shape[CHANNEL_AXIS].is_dynamic:
        return None
    return int(shape[CHANNEL_AXIS].get_length())
