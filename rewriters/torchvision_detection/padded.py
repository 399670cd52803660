"""Steps that the padded detectors share: empty slots, and the best slots of a batch."""

import torch
import torch.nn.functional as F
from torch import Tensor

from rewriters.patching.constants import as_ints

EMPTY_SCORE = -1.0  # below every probability; marks a slot that holds nothing


def without(scores: Tensor, valid: Tensor) -> Tensor:
    """`scores` with EMPTY_SCORE wherever `valid` (same shape) is false."""
    return torch.where(valid, scores, EMPTY_SCORE)


def at_least(boxes: Tensor, min_size: float) -> Tensor:
    """Whether boxes [..., 4] are at least `min_size` pixels wide and high: bool [...]."""
    return ((boxes[..., 2] - boxes[..., 0]) >= min_size) & ((boxes[..., 3] - boxes[..., 1]) >= min_size)


def gather_rows(rows: Tensor, index: Tensor) -> Tensor:
    """rows [N, M, D], index int64 [N, K] -> [N, K, D]."""
    return rows.gather(1, index.unsqueeze(-1).expand(-1, -1, rows.shape[-1]))


def emptied(rows: Tensor, used: Tensor) -> Tensor:
    """rows [N, K, D] where `used` [N, K], zeros elsewhere, also where a row is not finite."""
    return torch.where(used.unsqueeze(-1), rows, 0.0)


def top_rows(ranks: Tensor, limit: int, *, fixed: bool) -> tuple[Tensor, Tensor]:
    """The best of each row, ranks [N, M] -> ranks [N, K], index int64 [N, K], best first.

    K is the smaller of `limit` and M where M is `fixed`. Where it is not, K is `limit`, so that the shapes behind stay
    fixed; a slot that M does not fill has the rank minus infinity and the index 0.
    """
    if fixed:
        best, index = ranks.topk(min(limit, *as_ints(ranks.shape[1:])), dim=1)
        return best, index
    best, index = F.pad(ranks, (0, limit), value=-torch.inf).topk(limit, dim=1)
    return best, torch.where(best == -torch.inf, 0, index)
