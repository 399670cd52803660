"""Masks inside boxes -> masks of the image, as products of matrices instead of a loop over objects.

Bilinear resizing is linear in rows and in columns: pasted = rows @ mask @ columns, where `rows` [h, m] and `columns`
[m, w] hold the weight of each cell for each pixel, zeros outside the box.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

BORDER = 1  # cells of zeros around a mask, torchvision's padding


def pasted_masks(masks: Tensor, boxes: Tensor, size: tuple[Any, Any], ends: Tensor | None = None) -> Tensor:
    """Probabilities float32 [R, m, m] inside boxes float32 [R, 4], x1 y1 x2 y2 in pixels -> float32 [R, h, w].

    `size` (h, w) of the result; a box may reach past it. `ends` [R, 2], of the boxes' dtype: (h, w) of the image that
    each row is of, past which it is zero; None where that is `size`. No operator asks for R (see used_rows). Source:
    torchvision's paste_masks_in_image, with its corners cut off to whole pixels.
    """
    cells = masks.shape[-1] + 2 * BORDER
    padded = F.pad(masks, [BORDER] * 4)
    half = (boxes[:, 2:] - boxes[:, :2]) * (0.5 * cells / masks.shape[-1])
    center = (boxes[:, 2:] + boxes[:, :2]) * 0.5
    first, last = ((center + side).to(torch.int64).to(boxes.dtype) for side in (-half, half))
    rows, columns = (
        _weights(first[:, axis], last[:, axis], size[1 - axis], cells, None if ends is None else ends[:, 1 - axis])
        for axis in (1, 0)
    )
    return torch.bmm(torch.bmm(rows, padded), columns.transpose(1, 2))


def _weights(first: Tensor, last: Tensor, pixels: Any, cells: int, end: Tensor | None) -> Tensor:
    """How much each cell counts for each pixel of one axis: [R, pixels, cells].

    The box is `first` to `last` [R]; what lies at `end` [R] or past it counts nothing.
    """
    places = torch.arange(pixels, device=first.device).to(first.dtype)
    first, last = first.unsqueeze(1), last.unsqueeze(1)
    cells_per_pixel = cells / (last - first + 1).clamp(min=1)
    source = ((places - first + 0.5) * cells_per_pixel - 0.5).clamp(0, cells - 1)  # as bilinear resizing counts
    weights = 1 - (source.unsqueeze(-1) - torch.arange(cells, device=first.device)).abs()
    inside = (places >= first) & (places <= last)
    if end is not None:
        inside = inside & (places < end.unsqueeze(1))
    return weights.clamp(min=0) * inside.unsqueeze(-1)
