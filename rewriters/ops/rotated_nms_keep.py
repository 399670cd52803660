"""zooport::rotated_nms_keep, which rotated boxes survive greedy non-maximum suppression among those of their label.

ONNX has no overlap of rotated boxes, so both forms compute it themselves (see rotated_overlap), and find what greedy
suppression keeps as the fixed point of nms_keep.

In ONNX Runtime's operators, only pairs that can suppress are computed: j comes after i in the order of scores (half of
all pairs), has the same label, and its circumscribed circle meets that of i.

    near = before & same label & |centre i - centre j| < radius i + radius j         [B, K, K]
    hit  = ScatterND(0[B, K, K], NonZero(near), IoU of those pairs > threshold)

In standard operators, all pairs at once, in chunks of images: shapes that depend on the data are not needed.
"""

import numpy as np
import torch
from torch import Tensor

from rewriters.ops.graph_builder import BOOL, FLOAT, GraphBuilder
from rewriters.ops.in_chunks import in_chunks
from rewriters.ops.nms_keep import before, fixed_point, mask_of_scores, pairs
from rewriters.ops.operator import Operator, register
from rewriters.ops.rotated_overlap import EDGES, columns, frames, overlaps_more
from zoo.dialect import RUNTIME, STANDARD
from zoo.models.rotated_nms import class_rotated_nms


@torch.library.custom_op("zooport::rotated_nms_keep", mutates_args=())
def rotated_nms_keep(boxes: Tensor, scores: Tensor, labels: Tensor, iou_threshold: float) -> Tensor:
    """boxes float32 [B, K, 5] x y w h angle (radians), scores float32 [B, K], labels int64 [B, K] -> keep bool [B, K].

    Each row is suppressed by itself, best score first, and only boxes of one label meet: give labels of one value for
    suppression across classes. A slot with a negative score is empty: it suppresses nothing and is never kept.
    """
    keep = torch.zeros_like(scores, dtype=torch.bool)
    for row in range(len(boxes)):
        filled = (scores[row] >= 0).nonzero()[:, 0]
        candidates = boxes[row, filled], scores[row, filled], labels[row, filled]
        keep[row, filled[class_rotated_nms(*candidates, iou_threshold)]] = True
    return keep


@rotated_nms_keep.register_fake
def _(boxes: Tensor, scores: Tensor, labels: Tensor, iou_threshold: float) -> Tensor:
    return torch.empty_like(scores, dtype=torch.bool)


def runtime_form(b: GraphBuilder, boxes: str, scores: str, labels: str, *, iou_threshold: float) -> str:
    """-> keep bool [B, K]."""
    boxes_as_frames = frames(b, boxes)
    filled = b.GreaterOrEqual(b.Unsqueeze(scores, b.constant([1])), b.constant(0.0, np.float32))
    related = b.And(b.And(before(b, scores), filled), b.Equal(*pairs(b, labels)))
    place = b.Transpose(b.NonZero(b.And(related, _circles_meet(b, boxes_as_frames))), perm=[1, 0])  # [P, 3]: row, i, j
    first, second = (
        b.GatherND(boxes_as_frames, b.Gather(place, b.constant(of_box), axis=1)) for of_box in ([0, 1], [0, 2])
    )
    hit = b.Cast(overlaps_more(b, first, second, iou_threshold), to=FLOAT)
    zeros = b.Expand(b.constant(0.0, np.float32), b.Shape(related))
    return fixed_point(b, b.ScatterND(zeros, place, hit), scores, b.size(scores, 1))


def _circles_meet(b: GraphBuilder, boxes_as_frames: str) -> str:
    """Whether the circles around two boxes overlap, bool [B, K, K]."""
    last = b.constant([-1])
    x, y, half_w, half_h, _, _ = (b.Squeeze(column, last) for column in columns(b, boxes_as_frames))
    radius = b.Sqrt(b.Add(b.Mul(half_w, half_w), b.Mul(half_h, half_h)))
    across, up = b.Sub(*pairs(b, x)), b.Sub(*pairs(b, y))
    reach = b.Add(*pairs(b, radius))
    meet: str = b.Less(b.Add(b.Mul(across, across), b.Mul(up, up)), b.Mul(reach, reach))
    return meet


def standard_form(b: GraphBuilder, boxes: str, scores: str, labels: str, *, iou_threshold: float) -> str:
    """-> keep bool [B, K]."""
    slots = b.size(scores, 1)

    def of_rows(inner: GraphBuilder, boxes: str, scores: str, labels: str) -> str:
        boxes_as_frames = frames(inner, boxes)
        first, second = (inner.Unsqueeze(boxes_as_frames, inner.constant([axis])) for axis in (2, 1))
        hit = inner.And(overlaps_more(inner, first, second, iou_threshold), before(inner, scores))
        hits = inner.Cast(inner.And(hit, inner.Equal(*pairs(inner, labels))), to=FLOAT)
        return fixed_point(inner, hits, scores, slots)

    per_row = b.Mul(b.Mul(slots, slots), b.constant(EDGES))
    return in_chunks(b, [boxes, scores, labels], per_row, BOOL, of_rows)


register(
    Operator(
        torch.ops.zooport.rotated_nms_keep.default,
        mask_of_scores,
        {RUNTIME: runtime_form, STANDARD: standard_form},
    )
)
