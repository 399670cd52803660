"""What mmdetection's dense heads make of their maps: a row for each prior, its scores and its box."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

PREDICTS = {"predict_by_feat", "_predict_by_feat_single"}


@dataclass(frozen=True)
class BoxRule:
    """How a head encodes boxes for its own box coder.

    `width`: numbers of a code in the head's maps. `operands`: priors of each level L x [A, P] and codes [N, M, `width`]
    -> what the coder decodes, priors [M, P] and codes [N, M, 4].
    """

    width: Callable[[Any], int]
    operands: Callable[[Any, Sequence[Tensor], Tensor], tuple[Tensor, Tensor]]


def _plain(_head: Any, priors: Sequence[Tensor], codes: Tensor) -> tuple[Tensor, Tensor]:
    return torch.cat(list(priors)), codes


def _of_distributions(head: Any, priors: Sequence[Tensor], codes: Tensor) -> tuple[Tensor, Tensor]:
    """Distances are the means of distributions, in strides of their level."""
    pairs = zip(priors, head.prior_generator.strides, strict=True)
    strides = torch.cat([torch.full_like(level[:, :1], stride[0]) for level, stride in pairs])
    distances = head.integral(codes).reshape(codes.shape[0], -1, 4)
    return head.anchor_center(torch.cat(list(priors))), distances * strides


RULES = {
    "BaseDenseHead": BoxRule(lambda _head: 4, _plain),
    "GFLHead": BoxRule(lambda head: 4 * (int(head.reg_max) + 1), _of_distributions),
}
"""By the class whose method makes the boxes."""


def rule_of(head: Any) -> BoxRule | None:
    """That of a head's own class or of the nearest one that it inherits from; None for one that is not known here."""
    owner = next((kind for kind in type(head).__mro__ if PREDICTS & vars(kind).keys()), type(None))
    return RULES.get(owner.__name__)


def rows_of(maps: Sequence[Tensor], width: int) -> Tensor:
    """L x [N, A * width, h, w] -> [N, M, width]: a row for each prior of all levels, in mmdetection's order."""
    return torch.cat([level.permute(0, 2, 3, 1).reshape(level.shape[0], -1, width) for level in maps], dim=1)


def class_ranks(head: Any, rows: Tensor) -> tuple[Tensor, Callable[[Tensor], Tensor]]:
    """Rows [N, A, C or C + 1] -> [N, A, C], in the order of the class scores, and what makes scores of them.

    Without a background: its class, if there is one, is the last.
    """
    if getattr(getattr(head, "loss_cls", None), "custom_cls_channels", False):
        return head.loss_cls.get_activation(rows), _unchanged
    if head.use_sigmoid_cls:
        return rows, torch.sigmoid
    return rows.softmax(dim=-1)[..., :-1], _unchanged


def _unchanged(scores: Tensor) -> Tensor:
    return scores
