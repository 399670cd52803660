"""zooport::nms_keep, which boxes survive greedy non-maximum suppression, as a mask of fixed shape.

In ONNX Runtime's operators, NonMaxSuppression, whose rows of indices are scattered as `true` into a mask of `false`:

    keep = ScatterND(false[B, M], NonMaxSuppression(boxes, scores[B, 1, M])[:, (0, 2)], true)

In standard operators, greedy suppression as a fixed point:

    hit[i, j]  = i comes before j in the order of scores, and IoU(i, j) > threshold
    keep[j]    = filled[j] and not any over i of (keep[i] and hit[i, j])

Of two equal scores the lower index comes first. The order makes the solution unique, and it is what the greedy method
keeps: starting from `filled`, the boxes whose longest chain of hits is n are right after n turns. So M turns are
enough for M boxes, and the Loop ends sooner, when nothing changes. Memory: about five arrays of max(M * M, 2**24)
elements at a time; rows are taken in chunks.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import torch
import torchvision.ops  # noqa: F401  # registers torch.ops.torchvision
from torch import Tensor

from rewriters.ops.graph_builder import BOOL, FLOAT, GraphBuilder
from rewriters.ops.in_chunks import in_chunks
from rewriters.ops.operator import Operator, register
from zoo.dialect import RUNTIME, STANDARD

EMPTY_BELOW = -0.5  # empty slots score -1, all others 0 or more
ALL_BOXES = int(np.iinfo(np.int64).max)


@torch.library.custom_op("zooport::nms_keep", mutates_args=())
def nms_keep(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    """boxes float32 [B, M, 4] x1 y1 x2 y2, scores float32 [B, M] -> keep bool [B, M].

    Each row is suppressed by itself, best score first. A slot with a negative score is empty: it suppresses nothing
    and is never kept. Source: torchvision.ops.nms.
    """
    suppress = torch.ops.torchvision.nms  # the operator, not the function: that one is guarded during an export
    keep = torch.zeros_like(scores, dtype=torch.bool)
    for row in range(len(boxes)):
        filled = (scores[row] >= 0).nonzero()[:, 0]
        keep[row, filled[suppress(boxes[row, filled], scores[row, filled], iou_threshold)]] = True
    return keep


@nms_keep.register_fake
def _(boxes: Tensor, scores: Tensor, iou_threshold: float) -> Tensor:
    return torch.empty_like(scores, dtype=torch.bool)


def float32_threshold(threshold: float) -> np.float32:
    """The largest float32 <= threshold: a float32 overlap is above one exactly if it is above the other.

    torchvision compares float32 overlaps with the threshold in double precision (0.3 lies below its nearest float32).
    """
    nearest = np.float32(threshold)
    return nearest if float(nearest) <= threshold else np.nextafter(nearest, np.float32(-np.inf))


def runtime_form(b: GraphBuilder, boxes: str, scores: str, *, iou_threshold: float) -> str:
    """-> keep bool [B, M]."""
    return scattered(b, boxes, b.Unsqueeze(scores, b.constant([1])), b.Shape(scores), iou_threshold)


def scattered(b: GraphBuilder, boxes: str, by_class: str, shape: str, iou_threshold: float) -> str:
    """boxes [B, M, 4], scores by_class [B, C, M], `shape` of the result -> keep bool [B, M], of any class.

    The operator takes two opposite corners in any order; torchvision takes x2 < x1 or y2 < y1 as a box without an
    overlap, so these become boxes without an area.
    """
    low, high = b.Split(boxes, b.constant([2, 2]), outputs=2, axis=2)
    selected = b.NonMaxSuppression(
        b.Concat(low, b.Max(low, high), axis=2),
        by_class,
        b.constant([ALL_BOXES]),
        b.constant([float32_threshold(iou_threshold)], np.float32),
        b.constant([EMPTY_BELOW], np.float32),
    )
    index = b.Gather(selected, b.constant([0, 2]), axis=1)
    count = b.Shape(selected, end=1)
    keep: str = b.ScatterND(
        b.ConstantOfShape(shape, value=_one_bool(value=False)),
        index,
        b.ConstantOfShape(count, value=_one_bool(value=True)),
    )
    return keep


def _one_bool(*, value: bool) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(np.array([value]))


def standard_form(b: GraphBuilder, boxes: str, scores: str, labels: str = "", *, iou_threshold: float) -> str:
    """-> keep bool [B, M]; with labels int64 [B, M], only boxes of one label meet."""
    slots = b.size(scores, 1)

    def of_rows(inner: GraphBuilder, boxes: str, scores: str, labels: str = "") -> str:
        hits = _hits(inner, boxes, scores, labels, float32_threshold(iou_threshold))
        return fixed_point(inner, hits, scores, slots)

    rows = [boxes, scores, labels] if labels else [boxes, scores]
    return in_chunks(b, rows, b.Mul(slots, slots), BOOL, of_rows)


def _hits(b: GraphBuilder, boxes: str, scores: str, labels: str, threshold: np.float32) -> str:
    """hit float32 [B, M, M], 0 or 1. The IoU in torchvision's order of operations, so that both round alike."""
    nothing = b.constant(0.0, np.float32)
    x1, y1, x2, y2 = (b.Gather(boxes, b.constant(column), axis=2) for column in range(4))
    sides = [b.Max(b.Sub(b.Min(*pairs(b, high)), b.Max(*pairs(b, low))), nothing) for low, high in ((x1, x2), (y1, y2))]
    intersection = b.Mul(*sides)
    union = b.Sub(b.Add(*pairs(b, b.Mul(b.Sub(x2, x1), b.Sub(y2, y1)))), intersection)
    overlap = b.Greater(b.Div(intersection, union), b.constant(threshold, np.float32))
    hit = b.And(overlap, before(b, scores))
    if labels:
        hit = b.And(hit, b.Equal(*pairs(b, labels)))
    result: str = b.Cast(hit, to=FLOAT)
    return result


def pairs(b: GraphBuilder, value: str) -> tuple[str, str]:
    """[B, M] as [B, M, 1] and [B, 1, M]."""
    return b.Unsqueeze(value, b.constant([2])), b.Unsqueeze(value, b.constant([1]))


def before(b: GraphBuilder, scores: str) -> str:
    """scores [B, M] -> whether i comes before j, bool [B, M, M]: the better score, or the lower index of equal ones."""
    number = b.Range(b.constant(0), b.size(scores, 1), b.constant(1))
    earlier = b.Less(b.Unsqueeze(number, b.constant([1])), b.Unsqueeze(number, b.constant([0])))
    first, second = pairs(b, scores)
    result: str = b.Or(b.Greater(first, second), b.And(b.Equal(first, second), earlier))
    return result


def fixed_point(b: GraphBuilder, hits: str, scores: str, turns: str) -> str:
    """hits float32 [B, M, M], 0 or 1, scores [B, M] -> keep bool [B, M]."""
    nothing, middle = b.constant(0.0, np.float32), b.constant([1])
    filled = b.Cast(b.GreaterOrEqual(b.Unsqueeze(scores, middle), nothing), to=FLOAT)

    def turn(inner: GraphBuilder, _turn: str, keep: str) -> tuple[list[str], str]:
        after = inner.Where(inner.Greater(inner.MatMul(keep, hits), nothing), nothing, filled)
        changes = inner.ReduceSum(inner.Abs(inner.Sub(after, keep)), keepdims=0)
        return [after], inner.Greater(changes, nothing)

    (keep,) = b.loop(turns, [filled], [FLOAT], turn)
    result: str = b.Greater(b.Squeeze(keep, middle), nothing)
    return result


def mask_of_scores(tensors: Sequence[Any], _values: Mapping[str, Any]) -> Any:
    """The torchscript type of a mask of the slots, whose scores are the second tensor."""
    return tensors[1].type().with_dtype(torch.bool)


register(
    Operator(
        torch.ops.zooport.nms_keep.default,
        mask_of_scores,
        {RUNTIME: runtime_form, STANDARD: standard_form},
    )
)
