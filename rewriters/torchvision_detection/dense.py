"""Steps that the dense detectors (RetinaNet, FCOS, SSD) share: candidates of a fixed number, and their best slots."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from rewriters.ops.class_nms_keep import class_nms_keep
from rewriters.patching.constants import as_ints
from rewriters.torchvision_detection.image_size import ImageSize, clip_boxes
from rewriters.torchvision_detection.padded import emptied, gather_rows, top_rows, without

Decode = Callable[[Tensor, Tensor], Tensor]
"""Codes and anchors [n, 4] -> boxes [n, 4]; the models' own box coders."""


def level_candidates(
    ranks: Sequence[Tensor],
    codes: Sequence[Tensor],
    anchors: Sequence[Tensor],
    decode: Decode,
    limit: int,
    *,
    fixed: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The best `limit` pairs of anchor and class of each pyramid level; only these are decoded.

    For each level ranks [N, A, C] (scores, or what rises with them), codes [N, A, 4], anchors [A, 4] ->
    boxes [N, M, 4], ranks [N, M], labels int64 [N, M] of all levels. `fixed`: whether A is; see `top_rows`.
    """
    best, rows, labels = level_pairs(ranks, limit, fixed=fixed)
    boxes = decode(
        gather_rows(torch.cat(list(codes), dim=1), rows).reshape(-1, 4),
        torch.cat(list(anchors)).index_select(0, rows.flatten()),
    )
    return boxes.reshape(-1, *as_ints(rows.shape[1:]), 4), best, labels


def level_pairs(ranks: Sequence[Tensor], limit: int, *, fixed: bool) -> tuple[Tensor, Tensor, Tensor]:
    """The best `limit` pairs of anchor and class of each level: for each level ranks [N, A, C] ->
    ranks [N, M], anchor int64 [N, M], counted over all levels, class int64 [N, M]. `fixed`: as for level_candidates.
    """
    best, index = [], []
    first = 0  # pair of the level, counted over all levels
    for level in ranks:
        count, classes = as_ints(level.shape[1:]) if fixed else (level.shape[1], *as_ints(level.shape[2:]))
        level_best, level_index = _best_pairs(level, limit) if fixed else top_rows(level.flatten(1), limit, fixed=False)
        best.append(level_best)
        index.append(level_index + first)
        first += count * classes
    pairs = torch.cat(index, dim=1)
    rows = pairs // classes
    return torch.cat(best, dim=1), rows, pairs - rows * classes


def _best_pairs(ranks: Tensor, limit: int) -> tuple[Tensor, Tensor]:
    """The best `limit` of ranks [N, A, C] -> ranks [N, K], pair int64 [N, K]: anchor * C + class.

    The best pairs are of anchors whose best class is among the best, so all the others are left out before the pairs
    are ranked: of 12 000 anchors with 91 classes, 1000. Of equal ranks the lowest pair comes first, as without this.
    """
    count, classes = as_ints(ranks.shape[1:])
    if count <= limit:
        return top_rows(ranks.flatten(1), limit, fixed=True)
    _, anchors = ranks.amax(dim=2).topk(limit, dim=1)
    anchors, _ = anchors.sort(dim=1)
    best, place = top_rows(gather_rows(ranks, anchors).flatten(1), limit, fixed=True)
    row = place // classes
    return best, anchors.gather(1, row) * classes + (place - row * classes)


def class_aware_detections(
    boxes: Tensor, scores: Tensor, labels: Tensor, image_size: ImageSize, classes: int, model: Any
) -> list[dict[str, Tensor]]:
    """What RetinaNet and FCOS do with their candidates [N, M]: clip, threshold, NMS for each class, the best K."""
    boxes = clip_boxes(boxes, image_size)
    scores = without(scores, scores > model.score_thresh)
    scores = without(scores, class_nms_keep(boxes, scores, labels, classes, model.nms_thresh))
    return [best_slots(boxes, scores, labels, model.detections_per_img)]


def best_slots(boxes: Tensor, scores: Tensor, labels: Tensor, slots: int) -> dict[str, Tensor]:
    """boxes [N, M, D], scores [N, M] (empty: negative), labels [N, M] -> the best K of them, best first.

    Empty slots hold zeros, and label -1.
    """
    best, index = top_rows(scores, slots, fixed=True)
    used = best >= 0
    return {
        "boxes": emptied(gather_rows(boxes, index), used),
        "scores": best * used,
        "labels": torch.where(used, labels.gather(1, index), -1),
    }
