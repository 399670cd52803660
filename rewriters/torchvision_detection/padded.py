"""Steps that the padded detectors share: empty slots, and the best slots of a batch."""

import torch
from torch import Tensor

EMPTY_SCORE = -1.0  # below every probability; marks a slot that holds nothing


def without(scores: Tensor, valid: Tensor) -> Tensor:
    """`scores` with EMPTY_SCORE wherever `valid` (same shape) is false."""
    return torch.where(valid, scores, torch.full_like(scores, EMPTY_SCORE))


def at_least(boxes: Tensor, min_size: float) -> Tensor:
    """Whether boxes [..., 4] are at least `min_size` pixels wide and high: bool [...]."""
    return ((boxes[..., 2] - boxes[..., 0]) >= min_size) & ((boxes[..., 3] - boxes[..., 1]) >= min_size)


def gather_rows(rows: Tensor, index: Tensor) -> Tensor:
    """rows [N, M, D], index int64 [N, K] -> [N, K, D]."""
    return rows.gather(1, index.unsqueeze(-1).expand(-1, -1, rows.shape[-1]))
