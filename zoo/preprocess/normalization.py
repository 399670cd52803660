"""The numbers that a config gives for the channels of an image: of its 0..1, and of the bytes around it."""

import math
from collections.abc import Sequence

from zoo.errors import InputError
from zoo.preprocess.placed_image import MAX_BYTE

CHANNELS = 3
LIMITS = {"mean": "0 to 1", "std": "more than 0, at most 1"}


def channel_numbers(name: str, values: object) -> tuple[float, float, float]:
    """`mean` or `std` of red, green and blue. Raises InputError for anything but three numbers of the scale 0..1."""
    expected = f"preprocess: got {name} {values!r}, expected three numbers (red, green, blue), {LIMITS[name]}"
    if not isinstance(values, Sequence) or len(values) != CHANNELS or not all(map(_is_number, values)):
        raise InputError(expected)
    red, green, blue = (float(value) for value in values)
    if max(red, green, blue) > 1:
        raise InputError(f"{expected}: the tensor is 0..1; divide numbers of the scale 0..255 by 255")
    if min(red, green, blue) < 0 or (name == "std" and min(red, green, blue) == 0):
        raise InputError(expected)
    return red, green, blue


def padding_bytes(values: object) -> tuple[float, float, float]:
    """`pad_value` of red, green and blue. Raises InputError for anything but three numbers of the scale 0..255."""
    if not isinstance(values, Sequence) or len(values) != CHANNELS or not all(map(_is_number, values)):
        raise InputError(_padding_fault(values))
    red, green, blue = (float(value) for value in values)
    if min(red, green, blue) < 0 or max(red, green, blue) > MAX_BYTE:
        raise InputError(_padding_fault(values))
    return red, green, blue


def _padding_fault(values: object) -> str:
    return f"preprocess: got pad_value {values!r}, expected an integer, or three numbers, from 0 to {MAX_BYTE}"


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
