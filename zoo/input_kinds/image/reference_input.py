"""The reference's own preprocessing: from the config, in float32 PyTorch, sharing no code with production.

Production resizes bytes with OpenCV and NumPy; this resizes floats with torch. Both sample between pixel centres, with
the same filters, so they differ by rounding alone (see gates.PIPELINE for by how much).
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor

from zoo.errors import InputError

DEFAULT_PAD = 114
DEFAULT_DIVISOR = 32
ANTIALIASED = {"antialias": "bilinear", "antialias_bicubic": "bicubic"}
LARGEST = 255.0
HALF_UP = "half_up"

Size = tuple[int, int]


@dataclass(frozen=True)
class ReferenceInput:
    """``tensor`` float32 [1, 3, H, W], RGB, 0..1, of an ``image`` that was ``resized`` to that size.

    All sizes are (height, width) in pixels. ``offset``: (top, left) of the tensor in the resized image, of which it may
    show the centre alone. ``normalization``: (mean, std) of each channel that the model is given, in units of 0..1;
    empty where it is given the tensor itself. ``order``: of the channels that it is given.
    """

    tensor: Tensor
    resized: Size
    image: Size
    offset: Size = (0, 0)
    normalization: Sequence[tuple[float, float]] = ()
    order: str = "rgb"

    @property
    def shown(self) -> Size:
        """The part of the tensor, from the top left, that is the image."""
        height, width = self.tensor.shape[2:]
        return min(self.resized[0] - self.offset[0], height), min(self.resized[1] - self.offset[1], width)

    @property
    def tensor_per_image(self) -> tuple[float, float]:
        """Pixels of the tensor for one pixel of the image, (y, x)."""
        return self.resized[0] / self.image[0], self.resized[1] / self.image[1]

    def valid(self, tensor: Tensor, *, image_sizes: bool) -> Tensor:
        """Of [3, H, W] all, or with ``image_sizes`` the image alone; normalised."""
        part = tensor[:, : self.shown[0], : self.shown[1]] if image_sizes else tensor
        if self.order == "bgr":
            part = torch.flip(part, (0,))
        if not self.normalization:
            return part
        return torch.stack([(plane - mean) / std for plane, (mean, std) in zip(part, self.normalization, strict=True)])


def reference_input(image: NDArray[Any], preprocess: Mapping[str, Any]) -> ReferenceInput:
    """From an image uint8 [h, w, 3] BGR and the config's ``preprocess``."""
    height, width = image.shape[:2]
    pixels = torch.from_numpy(image[:, :, ::-1].copy()).permute(2, 0, 1)[None].to(torch.float32)
    resized, canvas, offset = _sizes(height, width, preprocess)
    if resized != (height, width):
        pixels = _resize(pixels, resized, preprocess.get("interpolation", "bilinear"))
    padding = (-offset[1], canvas[1] - resized[1] + offset[1], -offset[0], canvas[0] - resized[0] + offset[0])
    padded = _padded(pixels, padding, preprocess.get("pad_value", DEFAULT_PAD))
    normalization = tuple(zip(preprocess.get("mean", ()), preprocess.get("std", ()), strict=True))
    order = preprocess.get("channel_order", "rgb")
    return ReferenceInput(padded / 255.0, resized, (height, width), offset, normalization, order)


def _padded(pixels: Tensor, padding: Sequence[int], value: int | Sequence[float]) -> Tensor:
    """Negative sides of `padding` are cut off. `value`: of all channels, or of each."""
    if not isinstance(value, Sequence):
        return F.pad(pixels, tuple(padding), value=float(value))
    planes = zip(pixels.unbind(1), value, strict=True)
    return torch.stack([F.pad(plane, tuple(padding), value=float(one)) for plane, one in planes], 1)


def _sizes(height: int, width: int, preprocess: Mapping[str, Any]) -> tuple[Size, Size, Size]:
    """The image's size in the tensor, the tensor's, and where it begins in the image."""
    size, origin = preprocess.get("size"), (0, 0)
    resized = _resized(height, width, preprocess)
    if size is None:
        return resized, _multiples(resized, preprocess.get("size_divisor", DEFAULT_DIVISOR)), origin
    canvas = (int(size[0]), int(size[1]))
    if preprocess.get("resize") == "shortest":
        rest = [have - want for have, want in zip(resized, canvas, strict=True)]
        half = [round(part / 2) if preprocess.get("crop_rounding") == "even" else part // 2 for part in rest]
        origin = (half[0], half[1])
    return resized, canvas, origin


def _resized(height: int, width: int, preprocess: Mapping[str, Any]) -> Size:
    rule = preprocess.get("resize", "letterbox")
    if rule == "keep":
        return height, width
    if rule == "shortest":
        return _shortest(height, width, preprocess)
    if rule == "nearest_scale":
        return _nearest_scale(height, width, preprocess)
    canvas = (int(preprocess["size"][0]), int(preprocess["size"][1]))
    if rule == "stretch":
        return canvas
    if rule != "letterbox":
        raise InputError(f'preprocess: the PyTorch reference does not support resize "{rule}"')
    scale = min(canvas[0] / height, canvas[1] / width)
    rounds_half_up = preprocess.get("side_rounding") == HALF_UP
    sides = _half_up(height, width, scale) if rounds_half_up else (round(height * scale), round(width * scale))
    return max(1, sides[0]), max(1, sides[1])


def _shortest(height: int, width: int, preprocess: Mapping[str, Any]) -> Size:
    """The shorter edge at its length, or the longer one at its own."""
    edge, bound = float(preprocess["shortest_edge"]), preprocess.get("longest_edge")
    if preprocess.get("side_rounding") == HALF_UP:
        scales = [edge / min(height, width), *([] if bound is None else [bound / max(height, width)])]
        return _multiples(_half_up(height, width, min(scales)), preprocess.get("multiple_of", 1))
    ratio = max(height, width) / min(height, width)
    if bound is not None and ratio * edge > bound:
        edge = bound * float(min(height, width)) / float(max(height, width))
    short = round(edge)
    sides = [height, width]
    if short != min(sides):
        longer = int(edge * max(sides) / min(sides))
        sides = [short if side == min(height, width) else longer for side in sides]
        sides = [short, longer] if height == width else sides
    return _multiples((sides[0], sides[1]), preprocess.get("multiple_of", 1))


def _nearest_scale(height: int, width: int, preprocess: Mapping[str, Any]) -> Size:
    """At the one of two scales that changes the image least."""
    step, fit = preprocess.get("multiple_of", 1), preprocess["fit_size"]
    scale = min((fit[0] / height, fit[1] / width), key=lambda scale: abs(scale - 1))
    sides = [step * max(1, round(side * scale / step)) for side in (height, width)]
    return sides[0], sides[1]


def _half_up(height: int, width: int, scale: float) -> Size:
    """Both sides at one scale; half a pixel is one more."""
    return max(1, math.floor(height * scale + 0.5)), max(1, math.floor(width * scale + 0.5))


def _multiples(size: Size, divisor: int) -> Size:
    height, width = (math.ceil(side / divisor) * divisor for side in size)
    return height, width


def _resize(pixels: Tensor, size: Size, interpolation: str) -> Tensor:
    if interpolation == "bilinear":
        return F.interpolate(pixels, size=size, mode="bilinear", align_corners=False)
    if interpolation in ANTIALIASED:
        return _antialiased(pixels.double(), size, ANTIALIASED[interpolation]).float()
    if interpolation == "nearest":
        rows, columns = (_floors(have, want) for have, want in zip(pixels.shape[2:], size, strict=True))
        return pixels[:, :, rows][:, :, :, columns]
    if interpolation == "area":
        sides = list(zip(pixels.shape[2:], size, strict=True))
        weights = _between if any(want > have for have, want in sides) else _overlaps
        rows, columns = (weights(have, want) for have, want in sides)
        return rows @ pixels @ columns.T
    raise InputError(f'preprocess: the PyTorch reference does not support interpolation "{interpolation}"')


def _antialiased(pixels: Tensor, size: Size, mode: str) -> Tensor:
    """Columns first, then rows; a cubic filter overshoots, and grey levels are clipped after each."""
    columns = F.interpolate(pixels, size=(pixels.shape[2], size[1]), mode=mode, align_corners=False, antialias=True)
    rows = F.interpolate(columns.clamp(0.0, LARGEST), size=size, mode=mode, align_corners=False, antialias=True)
    return rows.clamp(0.0, LARGEST)


def _floors(have: int, want: int) -> Tensor:
    """[want]: the old pixel of each new one, as floor(x * (1 / (want / have))).

    In just these steps, because a position that is whole may else be rounded below itself, and the pixel before it is
    as near: with have / want, one in twenty pairs of sizes differs from OpenCV in some pixel.
    """
    inverse = 1.0 / (want / have)
    return (torch.arange(want, dtype=torch.float64) * inverse).floor().long().clamp(max=have - 1)


def _between(have: int, want: int) -> Tensor:
    """[want, have]: OpenCV's area for enlarged images, each new pixel of one or two old ones; each row sums to 1.

    The parts that the old pixels cover, in OpenCV's own steps and floats: where two edges meet, rounding decides which
    pixel it is, and a part of almost one is one in float32.
    """
    enlarged = want / have
    new = torch.arange(want, dtype=torch.float64)
    first = (new * (1.0 / enlarged)).floor()
    part = ((new + 1) - (first + 1) * enlarged).to(torch.float32).to(torch.float64)
    part = torch.where(part <= 0, 0.0, part - part.floor())
    weights = torch.zeros(want, have, dtype=torch.float64)
    rows, old = torch.arange(want), first.long().clamp(max=have - 1)
    weights[rows, old] += 1 - part
    weights[rows, (old + 1).clamp(max=have - 1)] += part
    return weights.to(torch.float32)


def _overlaps(have: int, want: int) -> Tensor:
    """[want, have]: which part of each new pixel every old pixel covers; each row sums to 1."""
    edges = torch.arange(want + 1, dtype=torch.float64) * have / want
    old = torch.arange(have, dtype=torch.float64)
    covered = torch.minimum(edges[1:, None], old + 1) - torch.maximum(edges[:-1, None], old)
    weights = covered.clamp(min=0)
    return (weights / weights.sum(dim=1, keepdim=True)).to(torch.float32)
