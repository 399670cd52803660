"""Masks inside boxes -> masks of the image, as products of matrices instead of a loop over objects.

Bilinear resizing is linear in rows and in columns: pasted = rows @ mask @ columns, where `rows` [h, m] and `columns`
[m, w] hold the weight of each cell for each pixel, zeros outside the box.
"""

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

BORDER = 1  # cells of zeros around a mask, torchvision's padding


def pasted_masks(masks: Tensor, boxes: Tensor, size: tuple[Any, Any]) -> Tensor:
    """Probabilities float32 [R, m, m] inside boxes float32 [R, 4], x1 y1 x2 y2 in pixels -> float32 [R, h, w].

    `size` (h, w) of the image; a box may reach past it. Source: torchvision's paste_masks_in_image, with its corners
    cut off to whole pixels.
    """
    cells = masks.shape[-1]
    padded = F.pad(masks, [BORDER] * 4)
    half = (boxes[:, 2:] - boxes[:, :2]) * (0.5 * (cells + 2 * BORDER) / cells)
    center = (boxes[:, 2:] + boxes[:, :2]) * 0.5
    first, last = (center - half).trunc(), (center + half).trunc()
    columns = _weights(first[:, 0], last[:, 0], size[1], cells + 2 * BORDER)
    rows = _weights(first[:, 1], last[:, 1], size[0], cells + 2 * BORDER)
    return rows @ padded @ columns.transpose(1, 2)


def _weights(first: Tensor, last: Tensor, pixels: Any, cells: int) -> Tensor:
    """How much each cell counts for each pixel of one axis: [R, pixels, cells]; the box is `first` to `last` [R]."""
    places = torch.arange(pixels, device=first.device).to(first.dtype)
    first, last = first[:, None], last[:, None]
    cells_per_pixel = cells / (last - first + 1).clamp(min=1)
    source = ((places - first + 0.5) * cells_per_pixel - 0.5).clamp(0, cells - 1)  # as bilinear resizing counts
    weights = 1 - (source.unsqueeze(-1) - torch.arange(cells, device=first.device)).abs()
    inside = (places >= first) & (places <= last)
    return weights.clamp(min=0) * inside.unsqueeze(-1)
