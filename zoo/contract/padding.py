"""Entries of single images, or one padded batch, as a batch of a fixed number of slots."""

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor


def batched(entries: Sequence[Tensor], slots: int, *, rank: int, fill: float = 0.0) -> Tensor:
    """Entries [n_i, ...] of single images, or one padded batch [N, n, ...], of `rank` axes -> [N, slots, ...]."""
    batches = [entry if entry.dim() == rank else entry.unsqueeze(0) for entry in entries]
    return torch.cat([_padded(batch, slots - batch.shape[1], fill) for batch in batches])


def _padded(batch: Tensor, missing: int, fill: float) -> Tensor:
    if missing == 0:
        return batch
    return F.pad(batch, [0, 0] * (batch.dim() - 2) + [0, missing], value=fill)
