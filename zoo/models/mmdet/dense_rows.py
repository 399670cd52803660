"""What mmdetection's dense heads make of their maps: a row for each prior, its scores and its box."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from zoo.models.mmdet.one_stage import OneStageRule

CLASSES, CODES = "cls_scores", "bbox_preds"
"""What a head gives, as mmdetection's predict_by_feat calls it."""
SIDE = 8  # of the maps on which a head shows what it gives

Boxes = Callable[[Any, Sequence[Tensor], Tensor, Tensor], Tensor]
"""head, priors of each level L x [A, P], codes [N, M, W], ends of the images int64 [1 or N, 2] (h, w) -> [N, M, 4]."""


MapSizes = Callable[[Sequence[Tensor]], list[Any]]
"""(h, w) of each map."""


@dataclass(frozen=True)
class DenseRule(OneStageRule):
    """What a head makes of its maps: `boxes`, in pixels; `width`: W, the numbers of a code.

    `scores`: of the classes [N, M, C] and of the `factors` [N, M, 1], as the head calls these. `with_strides`: whether
    its priors have their level's stride beside them.
    """

    boxes: Boxes
    width: Callable[[Any], int] = lambda _head: 4
    scores: Callable[[Tensor, Tensor], Tensor] = torch.mul
    factors: str = "score_factors"
    with_strides: bool = False

    def names(self, head: Any) -> tuple[str, ...]:
        """Of the rows: some heads have factors of the scores as well."""
        channels = head.in_channels
        if isinstance(channels, int):
            channels = [channels] * head.prior_generator.num_levels
        like = next(head.parameters())
        with torch.no_grad():
            kinds = head([like.new_zeros(1, width, SIDE, SIDE) for width in channels])
        return (CLASSES, CODES, self.factors)[: len(kinds)]

    def rows(self, head: Any, outputs: Any) -> dict[str, Tensor]:
        """Of maps, level by level: cls_scores [N, M, C or C + 1], bbox_preds [N, M, W], factors [N, M, 1]."""
        widths = {CLASSES: head.cls_out_channels, CODES: self.width(head), self.factors: 1}
        return {name: rows_of(maps, width) for (name, width), maps in zip(widths.items(), outputs, strict=False)}

    def decoded(self, head: Any, outputs: Any, ends: Tensor, map_sizes: MapSizes) -> tuple[Tensor, Tensor]:
        """Boxes [N, M, 4], and scores [N, M, C] as at level final."""
        rows, maps = self.rows(head, outputs), outputs[0]
        options = {"with_stride": True} if self.with_strides else {}
        like = maps[0]
        priors = head.prior_generator.grid_priors(map_sizes(maps), dtype=like.dtype, device=like.device, **options)
        ranks, activate = class_ranks(head, rows[CLASSES])
        scores, factors = activate(ranks), rows.get(self.factors)
        boxes = self.boxes(head, priors, rows[CODES], ends)
        return boxes, scores if factors is None else self.scores(scores, factors.sigmoid())


def _by_coder(head: Any, priors: Sequence[Tensor], codes: Tensor, ends: Tensor) -> Tensor:
    return _decoded(head, torch.cat(list(priors)), codes, ends)


def _of_distributions(head: Any, priors: Sequence[Tensor], codes: Tensor, ends: Tensor) -> Tensor:
    """Distances are the means of distributions, in strides of their level."""
    strides = column(priors, [stride[0] for stride in head.prior_generator.strides])
    distances = head.integral(codes).reshape(codes.shape[0], -1, 4)
    return _decoded(head, head.anchor_center(torch.cat(list(priors))), distances * strides, ends)


def _around_centres(head: Any, priors: Sequence[Tensor], codes: Tensor, _ends: Tensor) -> Tensor:
    """Of YOLOX, by its own method."""
    boxes: Tensor = head._bbox_decode(torch.cat(list(priors)), codes)  # noqa: SLF001 - it has no public name
    return boxes


def _of_offsets(head: Any, priors: Sequence[Tensor], codes: Tensor, ends: Tensor) -> Tensor:
    """Of RepPoints: offsets from a point, in strides."""
    points = torch.cat(list(priors))[:, :2]
    return clipped(codes * column(priors, head.point_strides) + points.repeat(1, 2), ends)


def _of_powers(head: Any, priors: Sequence[Tensor], codes: Tensor, ends: Tensor) -> Tensor:
    """Of FoveaBox: distances are powers, in units of their level, and boxes end at the last pixel."""
    points, distances = torch.cat(list(priors))[:, :2], codes.exp() * column(priors, head.base_edge_list)
    corners = torch.cat((points - distances[..., :2], points + distances[..., 2:]), dim=-1)
    return clipped(corners, ends - 1)


def _decoded(head: Any, priors: Tensor, codes: Tensor, ends: Tensor) -> Tensor:
    """Priors [M, P], codes [N, M, 4] -> boxes [N, M, 4], by mmdetection's own coder."""
    repeated = priors.expand(codes.shape[0], -1, -1).reshape(-1, priors.shape[-1])
    decoded = head.bbox_coder.decode(repeated, codes.reshape(-1, 4))
    boxes: Tensor = getattr(decoded, "tensor", decoded).reshape(codes.shape)
    return clipped(boxes, ends) if head.bbox_coder.clip_border else boxes


def clipped(boxes: Tensor, ends: Tensor) -> Tensor:
    """Boxes [N, M, 4] within their images."""
    return torch.minimum(boxes.clamp(min=0), corner(ends, boxes))


def corner(ends: Tensor, like: Tensor) -> Tensor:
    """Ends int64 [1 or N, 2] (h, w) -> [1 or N, 1, 4] (w, h, w, h) in the dtype of `like`."""
    return ends.flip(-1).repeat(1, 2).to(like.dtype).unsqueeze(1)


def column(priors: Sequence[Tensor], values: Sequence[float]) -> Tensor:
    """A value of each level L -> [M, 1]: for each prior."""
    pairs = zip(priors, values, strict=True)
    return torch.cat([torch.full_like(level[:, :1], value) for level, value in pairs])


def _geometric_mean(scores: Tensor, factors: Tensor) -> Tensor:
    return (scores * factors).sqrt()


RULES = {
    "BaseDenseHead": DenseRule(_by_coder),
    "GFLHead": DenseRule(_of_distributions, width=lambda head: 4 * (int(head.reg_max) + 1)),
    "PAAHead": DenseRule(_by_coder, scores=_geometric_mean),
    "FoveaHead": DenseRule(_of_powers),
    "RepPointsHead": DenseRule(_of_offsets),
    "YOLOXHead": DenseRule(_around_centres, factors="objectnesses", with_strides=True),
}
"""By the class whose method makes the boxes."""


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
