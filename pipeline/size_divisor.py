"""Sizes that a model takes: some only take multiples of their stride."""

from torch import nn

from zoo.errors import InputError
from zoo.target import Target


def checked_divisor(model: nn.Module, target: Target) -> int:
    """What divides every height and width that the model takes. InputError where the target has another size."""
    divisor = int(getattr(model, "size_divisor", 1))
    for axis in ("height", "width"):
        bounds = getattr(target, axis)
        for size in (bounds.min, bounds.opt, bounds.max):
            if size % divisor:
                below = size // divisor * divisor
                nearest = f"{below} or {below + divisor}" if below else f"{divisor}"
                raise InputError(f"{axis} {size}: {type(model).__name__} takes multiples of {divisor}; give {nearest}")
    return divisor
