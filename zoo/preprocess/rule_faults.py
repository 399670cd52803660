"""What is wrong with the numbers of a preprocessing rule."""

from collections.abc import Iterator, Sequence
from typing import Any

from zoo.errors import InputError
from zoo.preprocess.image_check import MIN_SIDE, OPENCV_MAX_PIXELS
from zoo.preprocess.placed_image import MAX_BYTE

RESIZES = ("letterbox", "stretch", "keep", "shortest", "nearest_scale")
WITHOUT_SIZE = ("keep", "nearest_scale")
OWN_KEYS = {
    "shortest": ("shortest_edge", "longest_edge", "multiple_of", "crop_rounding"),
    "nearest_scale": ("fit_size", "multiple_of"),
}
"""The keys that belong to some rules alone, by rule."""


def checked_size(size: Any, resize: str) -> tuple[int, int] | None:
    """(height, width), or None for a rule whose size follows from the image. Raises InputError."""
    if resize != "shortest" and (size is None) != (resize in WITHOUT_SIZE):
        raise InputError(
            f'preprocess: got size {size} with resize "{resize}"; give a size (height, width), '
            f"or size None with resize {_either(WITHOUT_SIZE)}"
        )
    return None if size is None else checked_sides("size", size)


def checked_sides(name: str, value: Any) -> tuple[int, int]:
    """(height, width) in pixels. Raises InputError."""
    sides = tuple(value) if isinstance(value, list | tuple) else ()
    if len(sides) != 2 or not all(is_int(side, MIN_SIDE) for side in sides):  # noqa: PLR2004 - (height, width)
        raise InputError(
            f"preprocess: got {name} {value!r}, expected (height, width) in whole pixels, {MIN_SIDE} or more"
        )
    if sides[0] * sides[1] > OPENCV_MAX_PIXELS:
        raise InputError(f"preprocess: got {name} {value}, expected {OPENCV_MAX_PIXELS} pixels at most, OpenCV's bound")
    return sides[0], sides[1]


def number_fault(pad_value: Any, size_divisor: Any) -> str | None:
    """Of padding; a `pad_value` of three numbers was checked before."""
    if not isinstance(pad_value, tuple) and not (is_int(pad_value, 0) and pad_value <= MAX_BYTE):
        return f"got pad_value {pad_value!r}, expected an integer from 0 to {MAX_BYTE}"
    if not is_int(size_divisor, 1):
        return f"got size_divisor {size_divisor!r}, expected an integer, 1 or more"
    return None


def key_faults(rule: Any) -> Iterator[str]:
    """Of keys that belong to other rules than that of a `Preprocess`, and of a key that its rule needs."""
    for name in dict.fromkeys(key for keys in OWN_KEYS.values() for key in keys):
        owners = [resize for resize, keys in OWN_KEYS.items() if name in keys]
        if rule.resize not in owners and getattr(rule, name) != type(rule).__dataclass_fields__[name].default:
            has = "has" if len(owners) == 1 else "have"
            yield f'got {name} with resize "{rule.resize}"; only resize {_either(owners)} {has} it: leave it out'
    if rule.resize == "nearest_scale" and rule.fit_size is None:
        yield 'no fit_size with resize "nearest_scale"; give fit_size=(height, width)'
    if not is_int(rule.multiple_of, 1):
        yield f"got multiple_of {rule.multiple_of!r}, expected an integer, 1 or more"


def edge_faults(rule: Any) -> Iterator[str]:
    """Of the edges of a `Preprocess`, and of the centre that is cut out. The first is the cause of what follows."""
    if rule.resize != "shortest":
        return
    shortest, longest, size = rule.shortest_edge, rule.longest_edge, rule.size
    if not is_int(shortest, MIN_SIDE):
        yield f'got shortest_edge {shortest!r} with resize "shortest", expected whole pixels, {MIN_SIDE} or more'
        return
    if longest is not None and not is_int(longest, shortest):
        yield f"got longest_edge {longest!r}, expected whole pixels, shortest_edge {shortest} or more"
    if size is None and rule.crop_rounding != "down":
        yield "got crop_rounding without size; give the size to cut out"
    if size is not None and (longest is not None or rule.multiple_of != 1):
        yield f"got size {size} with longest_edge or multiple_of; leave out the size that is cut out, or these"
    if size is not None and max(size) > shortest:
        yield f"got size {size} with shortest_edge {shortest}: the centre must fit; give {max(size)} or more"


def rounding_fault(rule: Any) -> str | None:
    """Of the sides of a resized image, where the rule of a `Preprocess` gives them whole."""
    if rule.side_rounding == "usual" or rule.resize in ("letterbox", "shortest"):
        return None
    return f'got side_rounding with resize "{rule.resize}", which does not round sides so; leave it out'


def _either(names: Sequence[str]) -> str:
    return " or ".join(f'"{name}"' for name in names)


def is_int(value: object, minimum: int) -> bool:
    """Whether a value is an integer, `minimum` or more."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= minimum
