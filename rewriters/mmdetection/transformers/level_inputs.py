"""A map as rows of an encoder: its size, where it is padding, and the codes of its places."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import torch
from torch import Tensor

from rewriters.patching.constants import static_size
from rewriters.patching.rewriting import active_target
from zoo.contract.coordinates import size_tensor

Size = tuple[Any, Any]
"""(h, w) of a map: plain numbers where the target fixes them, else what the tracer follows."""


class LevelInput(NamedTuple):
    """`rows` [N, h * w, C] of a map; `positions` [N or 1, h * w, C]; `padding` bool [N, h, w], or None."""

    rows: Tensor
    positions: Tensor
    padding: Tensor | None


def level_size(level: Tensor) -> Size:
    """Of a map [..., h, w]."""
    if active_target().fixed_sides:
        return static_size(level)
    height, width = level.shape[-2:]
    return height, width


def level_input(level: Tensor, sample: Any, encoding: Any) -> LevelInput:
    """Of a map [N, C, h, w]. `sample`: the whole batch; `encoding`: mmdetection's encoding of places."""
    padding = padding_of(level, sample)
    codes = encoding(None, input=level[:1]) if padding is None else encoding(padding)
    return LevelInput(as_rows(level), as_rows(codes), padding)


def as_rows(level: Tensor) -> Tensor:
    """[N, C, h, w] -> [N, h * w, C]."""
    return level.flatten(2).transpose(1, 2)


def padding_of(level: Tensor, sample: Any) -> Tensor | None:
    """Where a map [N, C, h, w] is padding, as the nearest pixels of the images are: bool [N, h, w].

    None for a batch whose images fill it.
    """
    if sample.image_sizes is None:
        return None
    batch, cells = size_tensor(*sample.batch_input_shape), size_tensor(*level_size(level))
    scale = batch.float() / cells.float()  # in float32, as torch.nn.functional.interpolate has it
    below, right = (
        (torch.arange(count, device=level.device) * scale[0, axis]).floor() >= sample.image_sizes[:, axis, None]
        for axis, count in enumerate(level_size(level))
    )
    padding: Tensor = below.unsqueeze(2) | right.unsqueeze(1)
    return padding


def places(size: Size, device: torch.device, offset: float = 0.0) -> tuple[Tensor, Tensor]:
    """(x, y) of the cells of a map, float32 [h * w] each, row by row; `offset` is added."""
    height, width = size
    rows, columns = (torch.arange(side, device=device).float() + offset for side in (height, width))
    shape = rows.new_zeros(1).expand(height, width)
    return (columns + shape).flatten(), (rows.unsqueeze(1) + shape).flatten()


def joined(parts: Sequence[Tensor | None]) -> Tensor | None:
    """Of all levels, bool [N, S]; None where no level has padding."""
    masks = [part.flatten(1) for part in parts if part is not None]
    return torch.cat(masks, dim=1) if masks else None
