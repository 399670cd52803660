"""The operator with standard ONNX operators only: greedy suppression as a fixed point.

    hit[i, j]  = i comes before j in the order of scores, and IoU(i, j) > threshold
    keep[j]    = filled[j] and not any over i of (keep[i] and hit[i, j])

Of two equal scores the lower index comes first. The order makes the solution unique, and it is what the greedy method
keeps: starting from `filled`, the boxes whose longest chain of hits is n are right after n turns. So M turns are
enough for M boxes, and the Loop ends sooner, when nothing changes.

Memory: about five arrays of max(M * M, 2**24) elements at a time; rows are taken in chunks.
"""

import numpy as np

from rewriters.ops.graph_builder import BOOL, FLOAT, GraphBuilder
from rewriters.ops.in_chunks import in_chunks
from rewriters.ops.nms_keep.threshold import float32_threshold


def translate(b: GraphBuilder, boxes: str, scores: str, labels: str = "", *, iou_threshold: float) -> str:
    """-> keep bool [B, M]; with labels int64 [B, M], only boxes of one label meet."""
    slots = b.size(scores, 1)

    def of_rows(inner: GraphBuilder, boxes: str, scores: str, labels: str = "") -> str:
        hits = _hits(inner, boxes, scores, labels, float32_threshold(iou_threshold))
        return _fixed_point(inner, hits, scores, slots)

    rows = [boxes, scores, labels] if labels else [boxes, scores]
    return in_chunks(b, rows, b.Mul(slots, slots), BOOL, of_rows)


def _hits(b: GraphBuilder, boxes: str, scores: str, labels: str, threshold: np.float32) -> str:
    """hit float32 [B, M, M], 0 or 1. The IoU in torchvision's order of operations, so that both round alike."""
    upright, flat, nothing = b.constant([2]), b.constant([1]), b.constant(0.0, np.float32)

    def pairs(value: str) -> tuple[str, str]:
        """[B, M] as [B, M, 1] and [B, 1, M]."""
        return b.Unsqueeze(value, upright), b.Unsqueeze(value, flat)

    x1, y1, x2, y2 = (b.Gather(boxes, b.constant(column), axis=2) for column in range(4))
    sides = [b.Max(b.Sub(b.Min(*pairs(high)), b.Max(*pairs(low))), nothing) for low, high in ((x1, x2), (y1, y2))]
    intersection = b.Mul(*sides)
    union = b.Sub(b.Add(*pairs(b.Mul(b.Sub(x2, x1), b.Sub(y2, y1)))), intersection)
    overlap = b.Greater(b.Div(intersection, union), b.constant(threshold, np.float32))
    number = b.Range(b.constant(0), b.size(scores, 1), b.constant(1))
    earlier = b.Less(b.Unsqueeze(number, flat), b.Unsqueeze(number, b.constant([0])))
    first, second = pairs(scores)
    before = b.Or(b.Greater(first, second), b.And(b.Equal(first, second), earlier))
    hit = b.And(overlap, before)
    if labels:
        hit = b.And(hit, b.Equal(*pairs(labels)))
    result: str = b.Cast(hit, to=FLOAT)
    return result


def _fixed_point(b: GraphBuilder, hits: str, scores: str, turns: str) -> str:
    """hits [B, M, M], scores [B, M] -> keep bool [B, M]."""
    nothing, middle = b.constant(0.0, np.float32), b.constant([1])
    filled = b.Cast(b.GreaterOrEqual(b.Unsqueeze(scores, middle), nothing), to=FLOAT)

    def turn(inner: GraphBuilder, _turn: str, keep: str) -> tuple[list[str], str]:
        after = inner.Where(inner.Greater(inner.MatMul(keep, hits), nothing), nothing, filled)
        changes = inner.ReduceSum(inner.Abs(inner.Sub(after, keep)), keepdims=0)
        return [after], inner.Greater(changes, nothing)

    (keep,) = b.loop(turns, [filled], [FLOAT], turn)
    result: str = b.Greater(b.Squeeze(keep, middle), nothing)
    return result
