"""What the dense heads of mmdetection share: rows of their maps, NMS by test_cfg, and the best slots."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from rewriters.ops.class_nms_keep import class_nms_keep
from rewriters.ops.nms_keep import nms_keep
from rewriters.patching.constants import as_ints, static_size
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.torchvision_detection.dense import best_slots
from rewriters.torchvision_detection.padded import without
from zoo.errors import ExportError

NMS_KEYS = {"type", "iou_threshold", "class_agnostic", "split_thr"}  # the last one: how many boxes run at a time


def map_rows(level: Tensor, width: int) -> Tensor:
    """[N, A * width, h, w] -> [N, h * w * A, width]: a row for each prior, in mmdetection's order."""
    if not has_fixed_size():
        return level.permute(0, 2, 3, 1).reshape(level.shape[0], -1, width)
    channels, height, map_width = as_ints(level.shape[1:])
    return level.permute(0, 2, 3, 1).reshape(-1, channels // width * height * map_width, width)


def map_priors(head: Any, maps: Sequence[Tensor], **options: Any) -> list[Tensor]:
    """The priors of each level: L x [h * w * A, 4], points [h * w, 2], or points and their strides [h * w, 4]."""
    sizes = [static_size(level) if has_fixed_size() else level.shape[-2:] for level in maps]
    priors: list[Tensor] = head.prior_generator.grid_priors(
        sizes, dtype=maps[0].dtype, device=maps[0].device, **options
    )
    return priors


def gather_priors(priors: Sequence[Tensor], rows: Tensor) -> Tensor:
    """L x [A, P], rows int64 [N, M], counted over all levels -> [N, M, P]."""
    joined = torch.cat(list(priors))
    return joined.index_select(0, rows.flatten()).reshape(-1, *as_ints(rows.shape[1:]), joined.shape[-1])


def with_column(priors: Sequence[Tensor], values: Sequence[float]) -> list[Tensor]:
    """L x [A, P] and a value of each level -> L x [A, P + 1]."""
    pairs = zip(priors, values, strict=True)
    return [torch.cat((level, torch.full_like(level[:, :1], value)), dim=-1) for level, value in pairs]


def number_of_candidates(head: Any, cfg: Any) -> int:
    """How many candidates of a level there are at most. Raises ExportError where the config does not say so."""
    limit = cfg.get("nms_pre", -1)
    if limit < 1:
        raise ExportError(f"{type(head).__name__}: test_cfg has nms_pre={limit}, expected 1 or more; set it")
    return int(limit)


def large_enough(boxes: Tensor, cfg: Any) -> Tensor:
    """bool [...] of boxes [..., 4]: those above the smallest size, if test_cfg has one."""
    size = cfg.get("min_bbox_size", -1)
    wide, high = boxes[..., 2] - boxes[..., 0], boxes[..., 3] - boxes[..., 1]
    return (wide > size) & (high > size) if size >= 0 else torch.ones_like(wide, dtype=torch.bool)


def overlap_threshold(nms: Any) -> float:
    """Of a section `nms`, in mmcv's precision: that of a C++ float. Raises ExportError for another NMS."""
    unknown = set(nms) - NMS_KEYS
    if nms.get("type", "nms") != "nms" or unknown:
        options = ", ".join(f"{key}={nms[key]!r}" for key in nms)
        raise ExportError(f"test_cfg.nms: got {options}; zooport exports type='nms' with {', '.join(sorted(NMS_KEYS))}")
    return float(np.float32(nms["iou_threshold"]))


def suppressed(boxes: Tensor, scores: Tensor, labels: Tensor, classes: int, nms: Any) -> Tensor:
    """boxes [N, M, 4], scores [N, M] (empty: negative), labels [N, M] -> scores, empty where NMS drops a box.

    `nms`: the section of test_cfg; None: nothing is dropped.
    """
    if nms is None:
        return scores
    threshold = overlap_threshold(nms)
    if nms.get("class_agnostic", False):
        return without(scores, nms_keep(boxes, scores, threshold))
    return without(scores, class_nms_keep(boxes, scores, labels, classes, threshold))


def instances(boxes: Tensor, scores: Tensor, labels: Tensor, slots: int) -> list[SimpleNamespace]:
    """The best slots of candidates [N, M] as the results of the whole batch."""
    best = best_slots(boxes, scores, labels, slots)
    return [SimpleNamespace(bboxes=best["boxes"], scores=best["scores"], labels=best["labels"])]
