"""torch.cdist: the norm of all differences. Memory: rows times rows times columns, unless products are asked for."""

import math

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.symbolic.declaration import symbolic
from rewriters.symbolic.elementwise import like

EUCLIDEAN, PRODUCTS = 2.0, 1  # torch's number for compute_mode="use_mm_for_euclid_dist"


@symbolic(
    "aten::cdist",
    reason="torchscript's distances are wrong except for the Euclidean norm, and that of tensors of different ranks it "
    "refuses; dynamo has none of few points",
    written_for="torch 2.15",
)
def cdist(b: GraphBuilder, x: str, y: str, *, p: float, compute_mode: int | None) -> str:
    """x [..., P, D], y [..., R, D] -> [..., P, R]."""
    if p == EUCLIDEAN and compute_mode == PRODUCTS:
        return _by_products(b, x, y)
    sizes = b.Abs(b.Sub(b.Unsqueeze(x, b.constant([-2])), b.Unsqueeze(y, b.constant([-3]))))
    axis = max(b.ranks[x], b.ranks[y]) if x in b.ranks and y in b.ranks else -1
    result: str
    if p == 0:
        nothing = like(b, 0.0, x)  # what is no number stays none
        result = _sum(b, b.Where(b.IsNaN(sizes), sizes, b.CastLike(b.Greater(sizes, nothing), x)), axis)
    elif p == 1:
        result = _sum(b, sizes, axis)
    elif p == EUCLIDEAN:
        result = b.Sqrt(_sum(b, b.Mul(sizes, sizes), axis))
    elif math.isinf(p):
        result = _largest(b, b.Where(b.IsNaN(sizes), like(b, 0.0, x), sizes), axis)  # torch passes over them
    else:
        result = b.Pow(_sum(b, b.Pow(sizes, like(b, p, x)), axis), like(b, 1 / p, x))
    return result


def _sum(b: GraphBuilder, x: str, axis: int) -> str:
    """Over the last axis, which is dropped. Counted from the end, ONNX Runtime keeps it in an empty tensor."""
    result: str = b.ReduceSum(x, b.constant([axis]), keepdims=0)
    return result


def _largest(b: GraphBuilder, sizes: str, axis: int) -> str:
    """Of none below 0, over the last axis, which is dropped; 0 of none at all. (ReduceMax differs between opsets.)"""
    rows = b.Concat(b.Shape(sizes, start=0, end=-1), b.constant([1]), axis=0)
    more = b.Concat(sizes, b.Expand(like(b, 0.0, sizes), rows), axis=-1)
    largest, _ = b.TopK(more, b.constant([1]), outputs=2, axis=-1)
    return _sum(b, largest, axis)


def _by_products(b: GraphBuilder, x: str, y: str) -> str:
    """sqrt(|x|^2 + |y|^2 - 2 x y), nothing below 0: less exact for near points, and without the differences."""
    last = b.constant([-1])
    x_norm = b.Unsqueeze(_sum(b, b.Mul(x, x), b.ranks.get(x, 0) - 1), last)
    y_norm = b.Unsqueeze(_sum(b, b.Mul(y, y), b.ranks.get(y, 0) - 1), b.constant([-2]))
    turned = b.Squeeze(b.MatMul(b.Unsqueeze(y, b.constant([-3])), b.Unsqueeze(x, last)), last)  # [..., P, R]
    squares = b.Sub(b.Add(x_norm, y_norm), b.Mul(like(b, 2.0, x), turned))
    result: str = b.Sqrt(b.Max(squares, like(b, 0.0, x)))
    return result
