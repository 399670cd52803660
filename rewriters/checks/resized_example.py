"""The example of an export at another size: fewer or more images, enlarged or shrunk."""

from collections.abc import Mapping

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.input_kinds import input_axes
from zoo.input_specs import IMAGE_SIZES, SETTINGS
from zoo.target import Target

STRIDE = 32  # most models that refuse odd sizes take its multiples


def second_sizes(target: Target, axis: str, example: Mapping[str, Tensor], module: nn.Module) -> list[int]:
    """Sizes of an axis besides the example's, in the order in which they are worth trying; never empty.

    A batch of one, or an odd height or width where the model does not say what divides them (`size_divisor`); then
    multiples of 32.
    """
    bounds, traced = target.axes[axis], example_size(example, axis)
    declared = [getattr(part, "size_divisor", None) for part in module.modules()]
    divisors = [divisor for divisor in declared if isinstance(divisor, int)]
    if axis == "batch":
        sizes = [1, traced + 1, bounds.max, bounds.min]
    else:
        sizes = [bounds.other(max(divisors, default=1)), bounds.other(STRIDE), bounds.max, bounds.min]
    return [size for size in dict.fromkeys(sizes) if size in bounds and size != traced]


def example_size(example: Mapping[str, Tensor], axis: str) -> int:
    """Of the example's first input."""
    name, tensor = next(iter(example.items()))
    return int(tensor.shape[{axis: place for place, axis in input_axes(name).items()}[axis]])


def at_sizes(example: Mapping[str, Tensor], sizes: Mapping[str, int]) -> dict[str, Tensor]:
    """Every input at these sizes: `images` and inputs that are shaped alike [N, C, H, W], `image_sizes` [N, 2].

    Settings stay as they are. More images are the same ones again, as is more of any other axis.
    """
    sides = tuple(next(iter(example.values())).shape[2:4])
    want = tuple(sizes.get(axis, side) for axis, side in zip(("height", "width"), sides, strict=False))
    inputs = {}
    for name, tensor in example.items():
        resized = tensor
        if name not in SETTINGS:
            for place, axis in input_axes(name).items():
                if axis in sizes and axis not in ("height", "width"):
                    side = resized.shape[place]
                    resized = resized.index_select(place, torch.arange(sizes[axis]) % side)
            if name == IMAGE_SIZES.name:
                resized = _ends(resized, sides, want)
            elif resized.dim() == 4 and tuple(resized.shape[2:]) != want:  # noqa: PLR2004  # [N, C, H, W]
                resized = _resized(resized, want)
        inputs[name] = resized
    return inputs


def _resized(images: Tensor, size: tuple[int, ...]) -> Tensor:
    if images.is_floating_point():
        return F.interpolate(images, size, mode="bilinear", align_corners=False)
    return F.interpolate(images.double(), size, mode="nearest").to(images.dtype)


def _ends(image_sizes: Tensor, size: tuple[int, ...], want: tuple[int, ...]) -> Tensor:
    """Where the images end (h, w) after a resize of the tensor around them."""
    scale = torch.tensor([new / old for new, old in zip(want, size, strict=True)], dtype=torch.float64)
    return (image_sizes * scale).long().clamp(min=1).minimum(torch.tensor(want))
