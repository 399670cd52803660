"""Detections from boxes that have a score for every class, as mmdetection's multiclass_nms makes them."""

from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor

from rewriters.mmdetection.candidates import overlap_threshold, suppressed
from rewriters.ops.nms_keep import nms_keep
from rewriters.patching.constants import as_ints
from rewriters.torchvision_detection.dense import best_slots
from rewriters.torchvision_detection.padded import without


def class_detections(boxes: Tensor, scores: Tensor, valid: Tensor, cfg: Any) -> list[SimpleNamespace]:
    """boxes [N, P, C or 1, 4], scores [N, P, C] and which of them count, bool [N, P, C] -> the results of the batch.

    The class axis joins the batch axis for NMS, so that boxes of two classes never meet.
    """
    slots, classes = as_ints(scores.shape[1:])
    boxes = boxes.expand(-1, -1, classes, -1).transpose(1, 2)
    scores = without(scores, valid).transpose(1, 2)
    flat_boxes, flat = boxes.reshape(-1, classes * slots, 4), scores.reshape(-1, classes * slots)
    labels = torch.arange(classes, device=scores.device).repeat_interleave(slots).expand_as(flat)
    if cfg.nms is None or cfg.nms.get("class_agnostic", False):
        flat = suppressed(flat_boxes, flat, labels, classes, cfg.nms)
    else:
        rows, own = boxes.reshape(-1, slots, 4), scores.reshape(-1, slots)
        flat = without(own, nms_keep(rows, own, overlap_threshold(cfg.nms))).reshape(-1, classes * slots)
    best = best_slots(flat_boxes, flat, labels, cfg.max_per_img)
    return [SimpleNamespace(bboxes=best["boxes"], scores=best["scores"], labels=best["labels"])]
