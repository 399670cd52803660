"""torch.cdist: the norm of all differences. Memory: rows times rows times columns, unless products are asked for."""

import math
from collections.abc import Sequence
from typing import Any

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.symbolic.declaration import symbolic
from rewriters.symbolic.elementwise import like

WRITTEN_FOR = "torch 2.15"
EUCLIDEAN, PRODUCTS = 2.0, 1  # torch's number for compute_mode="use_mm_for_euclid_dist"


def _other_norms(_ranks: Sequence[int], *, p: float, **_values: Any) -> bool:
    return p != EUCLIDEAN


def cdist(b: GraphBuilder, x: str, y: str, *, p: float, compute_mode: int | None) -> str:
    """x [..., P, D], y [..., R, D] -> [..., P, R]."""
    if p == EUCLIDEAN and compute_mode == PRODUCTS:
        return _by_products(b, x, y)
    last = b.constant([-1])
    sizes = b.Abs(b.Sub(b.Unsqueeze(x, b.constant([-2])), b.Unsqueeze(y, b.constant([-3]))))
    result: str
    if p == 0:
        different = b.CastLike(b.Greater(sizes, like(b, 0.0, x)), x)
        result = b.ReduceSum(different, last, keepdims=0)
    elif p == 1:
        result = b.ReduceSum(sizes, last, keepdims=0)
    elif p == EUCLIDEAN:
        result = b.Sqrt(b.ReduceSum(b.Mul(sizes, sizes), last, keepdims=0))
    elif math.isinf(p):
        result = b.ReduceMax(sizes, last, keepdims=0)
    else:
        powers = b.ReduceSum(b.Pow(sizes, like(b, p, x)), last, keepdims=0)
        result = b.Pow(powers, like(b, 1 / p, x))
    return result


def _by_products(b: GraphBuilder, x: str, y: str) -> str:
    """sqrt(|x|^2 + |y|^2 - 2 x y), nothing below 0: less exact for near points, and without the differences."""
    last = b.constant([-1])
    x_norm = b.ReduceSum(b.Mul(x, x), last, keepdims=1)
    y_norm = b.Unsqueeze(b.ReduceSum(b.Mul(y, y), last, keepdims=0), b.constant([-2]))
    turned = b.Squeeze(b.MatMul(b.Unsqueeze(y, b.constant([-3])), b.Unsqueeze(x, last)), last)  # [..., P, R]
    squares = b.Sub(b.Add(x_norm, y_norm), b.Mul(like(b, 2.0, x), turned))
    result: str = b.Sqrt(b.Max(squares, like(b, 0.0, x)))
    return result


symbolic(
    "aten::cdist",
    reason="torchscript's distances are wrong for other norms than the Euclidean one",
    written_for=WRITTEN_FOR,
    exporter="torchscript",
    when=_other_norms,
)(cdist)
symbolic("aten::cdist", reason="dynamo has none of few points", written_for=WRITTEN_FOR, exporter="dynamo")(cdist)
