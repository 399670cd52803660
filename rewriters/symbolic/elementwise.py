"""Elementwise functions that torchscript has no translation of, and four that dynamo has none of either."""

import math

import numpy as np

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.symbolic.declaration import symbolic

REASON, WRITTEN_FOR = "torchscript has no translation of it", "torch 2.15"
ONE_OPERATOR = {
    "aten::asinh": "Asinh",
    "aten::acosh": "Acosh",
    "aten::atanh": "Atanh",
    "aten::sinh": "Sinh",
    "aten::cosh": "Cosh",
    "aten::positive": "Identity",
}


def _declare(name: str, op_type: str) -> None:
    def one_operator(b: GraphBuilder, x: str) -> str:
        result: str = b.node(op_type, x)
        return result

    symbolic(name, reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript", promotes=True)(one_operator)


for _name, _op_type in ONE_OPERATOR.items():
    _declare(_name, _op_type)


def like(b: GraphBuilder, value: float, x: str) -> str:
    """A constant of x's dtype."""
    result: str = b.CastLike(b.constant(value, np.float64), x)
    return result


@symbolic("aten::sgn", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript")
def sgn(b: GraphBuilder, x: str) -> str:
    """-1, 0 or 1, and 0 of what is no number."""
    sign = b.Sign(x)
    result: str = sign if b.integral(x) else b.Where(b.IsNaN(x), like(b, 0.0, x), sign)
    return result


@symbolic("aten::expm1", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript", promotes=True)
def expm1(b: GraphBuilder, x: str) -> str:
    """exp(x) - 1 = tanh(x / 2) (exp(x) + 1), which keeps small results; where exp overflows or vanishes, exp(x) - 1."""
    power, one = b.Exp(x), like(b, 1.0, x)
    near = b.Mul(b.Tanh(b.Mul(x, like(b, 0.5, x))), b.Add(power, one))
    small = b.Less(b.Abs(x), one)
    result: str = b.Where(small, near, b.Sub(power, one))
    return result


@symbolic("aten::exp2", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript", promotes=True)
def exp2(b: GraphBuilder, x: str) -> str:
    """2 ** x."""
    result: str = b.Pow(like(b, 2.0, x), x)
    return result


@symbolic("aten::erfc", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript", promotes=True)
def erfc(b: GraphBuilder, x: str) -> str:
    """1 - erf(x): right to the rounding of 1, not of erfc, which falls below it from x = 4 on."""
    result: str = b.Sub(like(b, 1.0, x), b.Erf(x))
    return result


@symbolic("aten::trunc", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript")
def trunc(b: GraphBuilder, x: str) -> str:
    """Towards zero."""
    if b.integral(x):
        return x
    result: str = b.Where(b.Less(x, like(b, 0.0, x)), b.Ceil(x), b.Floor(x))
    return result


@symbolic("aten::frac", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript")
def frac(b: GraphBuilder, x: str) -> str:
    """What is behind the point, with x's sign."""
    result: str = b.Sub(x, trunc(b, x))
    return result


@symbolic("aten::sinc", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript", promotes=True)
def sinc(b: GraphBuilder, x: str) -> str:
    """sin(pi x) / (pi x), and 1 at 0."""
    nothing, angle = like(b, 0.0, x), b.Mul(x, like(b, math.pi, x))
    at_zero = b.Equal(x, nothing)
    one = like(b, 1.0, x)
    result: str = b.Where(at_zero, one, b.Div(b.Sin(angle), b.Where(at_zero, one, angle)))
    return result


@symbolic("aten::rad2deg", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript", promotes=True)
def rad2deg(b: GraphBuilder, x: str) -> str:
    """Radians as degrees."""
    result: str = b.Mul(x, like(b, 180 / math.pi, x))
    return result


@symbolic("aten::deg2rad", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript", promotes=True)
def deg2rad(b: GraphBuilder, x: str) -> str:
    """Degrees as radians."""
    result: str = b.Mul(x, like(b, math.pi / 180, x))
    return result


def _signbit(b: GraphBuilder, x: str) -> str:
    """Whether negative; -0 is: 1 / -0 is minus infinity. (ONNX Runtime's Where would make it 0.)"""
    nothing = like(b, 0.0, x)
    if b.integral(x):
        below: str = b.Less(x, nothing)
        return below
    result: str = b.Or(b.Less(x, nothing), b.Less(b.Div(like(b, 1.0, x), x), nothing))
    return result


@symbolic("aten::signbit", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript")
def signbit(b: GraphBuilder, x: str) -> str:
    """As torch.signbit."""
    return _signbit(b, x)


@symbolic("aten::copysign.Tensor", reason="no exporter has a translation of it", written_for=WRITTEN_FOR, promotes=True)
def copysign(b: GraphBuilder, x: str, y: str) -> str:
    """|x| with y's sign."""
    size = b.Abs(x)
    result: str = b.Where(_signbit(b, y), b.Neg(size), size)
    return result


@symbolic("aten::hypot", reason="no exporter has a translation of it", written_for=WRITTEN_FOR, promotes=True)
def hypot(b: GraphBuilder, x: str, y: str) -> str:
    """sqrt(x**2 + y**2), of the sides divided by the longer one, so that no square overflows."""
    longer, shorter = b.Max(b.Abs(x), b.Abs(y)), b.Min(b.Abs(x), b.Abs(y))
    one = like(b, 1.0, x)
    share = b.Div(shorter, b.Where(b.Equal(longer, like(b, 0.0, x)), one, longer))
    length = b.Mul(longer, b.Sqrt(b.Add(one, b.Mul(share, share))))
    infinity = like(b, math.inf, x)  # beside it even what is no number does not count
    endless = b.Or(b.Equal(b.Abs(x), infinity), b.Equal(b.Abs(y), infinity))
    result: str = b.Where(endless, infinity, length)
    return result


def _logaddexp(b: GraphBuilder, x: str, y: str, base: float) -> str:
    """log(base**x + base**y) = max + log(1 + base**-|x - y|)."""
    scale = like(b, math.log(base), x)
    same = b.Equal(x, y)  # two infinities have no difference
    difference = b.Mul(b.Where(same, like(b, 0.0, x), b.Abs(b.Sub(x, y))), scale)
    more = b.Log(b.Add(like(b, 1.0, x), b.Exp(b.Neg(difference))))
    result: str = b.Add(b.Max(x, y), b.Div(more, scale))
    return result


@symbolic("aten::logaddexp", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript", promotes=True)
def logaddexp(b: GraphBuilder, x: str, y: str) -> str:
    """log(exp(x) + exp(y))."""
    return _logaddexp(b, x, y, math.e)


@symbolic("aten::logaddexp2", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript", promotes=True)
def logaddexp2(b: GraphBuilder, x: str, y: str) -> str:
    """log2(2**x + 2**y)."""
    return _logaddexp(b, x, y, 2.0)


@symbolic("aten::xlogy.Tensor", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript", promotes=True)
def xlogy(b: GraphBuilder, x: str, y: str) -> str:
    """x log(y); 0 where x is 0, unless y is not a number."""
    zero = b.And(b.Equal(x, like(b, 0.0, x)), b.Not(b.IsNaN(y)))
    result: str = b.Where(zero, like(b, 0.0, x), b.Mul(x, b.Log(y)))
    return result


def _of_numbers(b: GraphBuilder, x: str, y: str, op_type: str) -> str:
    chosen = b.node(op_type, x, y)
    result: str = chosen if b.integral(x) else b.Where(b.IsNaN(x), y, b.Where(b.IsNaN(y), x, chosen))
    return result


@symbolic("aten::fmax", reason="no exporter has a translation of it", written_for=WRITTEN_FOR, promotes=True)
def fmax(b: GraphBuilder, x: str, y: str) -> str:
    """The larger one; of a number and no number the number."""
    return _of_numbers(b, x, y, "Max")


@symbolic("aten::fmin", reason="no exporter has a translation of it", written_for=WRITTEN_FOR, promotes=True)
def fmin(b: GraphBuilder, x: str, y: str) -> str:
    """The smaller one; of a number and no number the number."""
    return _of_numbers(b, x, y, "Min")


@symbolic("aten::heaviside", reason=REASON, written_for=WRITTEN_FOR, exporter="torchscript")
def heaviside(b: GraphBuilder, x: str, at_zero: str) -> str:
    """0 below zero, 1 above it, and the second tensor's value at it."""
    nothing, one = like(b, 0.0, x), like(b, 1.0, x)
    result: str = b.Where(b.Equal(x, nothing), at_zero, b.Where(b.Greater(x, nothing), one, nothing))
    return result
