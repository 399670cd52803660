"""Boxes that non-maximum suppression meets, easy and not."""

import torch
from torch import Tensor

CLASSES = 5
KINDS = {
    "spread": "over the image",
    "crowd": "in one place",
    "same": "one box everywhere",
    "tied": "a crowd with few different scores",
    "equal": "a crowd with one score",
    "chain": "each overlaps its neighbours alone: A suppresses B, which would suppress C",
    "whole": "in a crowd, at whole pixels: overlaps that are just the threshold",
    "flat": "a crowd without an area",
    "inverted": "a crowd with x2 < x1 or y2 < y1",
}


def candidates(rows: int, count: int, kind: str, seed: int) -> tuple[Tensor, Tensor, Tensor]:
    """boxes [rows, count, 4], scores [rows, count], a fifth of them -1 (empty), labels int64 [rows, count]."""
    generator = torch.Generator().manual_seed(seed)
    corner = torch.rand(rows, count, 2, generator=generator) * (200.0 if kind == "spread" else 12.0)
    size = torch.rand(rows, count, 2, generator=generator) * 30
    scores = torch.rand(rows, count, generator=generator)
    empty = torch.rand(rows, count, generator=generator) < 0.2
    labels = torch.randint(CLASSES, (rows, count), generator=generator)
    if kind == "same":
        corner, size = torch.zeros_like(corner), torch.full_like(size, 30.0)
    elif kind == "tied":
        scores = (scores * 3).round() / 3
    elif kind == "equal":
        scores = torch.full_like(scores, 0.5)
    elif kind == "chain":
        corner = torch.arange(count).float()[None, :, None] * torch.tensor([6.0, 0.0]).expand(rows, 1, 2)
        size = torch.full_like(size, 30.0)
    elif kind == "whole":
        corner, size = corner.round(), (size / 3).round()
    elif kind == "flat":
        size[..., 0] = 0.0
    elif kind == "inverted":
        size = size * (1 - 2 * torch.randint(2, size.shape, generator=generator))
    return torch.cat([corner, corner + size], dim=-1), torch.where(empty, torch.tensor(-1.0), scores), labels
