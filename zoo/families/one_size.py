"""Models that take one size of images alone."""

from collections.abc import Mapping

from zoo.errors import InputError
from zoo.target import AxisRange


def check_one_size(kind: str, size: tuple[int, int], sides: Mapping[str, AxisRange]) -> None:
    """Raises InputError where a height or width may be another than that of `size`, which the model `kind` takes."""
    for axis, taken in zip(("height", "width"), size, strict=True):
        bounds = sides[axis]
        other = next((side for side in (bounds.min, bounds.opt, bounds.max) if side != taken), None)
        if other is not None:
            raise InputError(
                f"{axis} {other}: this {kind} takes images of {size[0]}x{size[1]} alone; give preprocess size {size} "
                "and no other height or width, or build the model for another size"
            )
