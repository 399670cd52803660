"""Sampling between the elements of a tensor by gathering those around: what grid_sample and deform_conv2d share."""

from collections.abc import Sequence

from rewriters.ops.graph_builder import INT64, GraphBuilder
from rewriters.symbolic.elementwise import like

OUTSIDE = -2.0


def near(b: GraphBuilder, place: str, last: str) -> str:
    """A place, or one just outside 0..last: what is no number is outside, and infinities are not far away."""
    place = b.Min(b.Max(place, like(b, OUTSIDE, place)), b.Add(last, like(b, -OUTSIDE, place)))
    inside: str = b.Where(b.IsNaN(place), like(b, OUTSIDE, place), place)
    return inside


def between(b: GraphBuilder, place: str) -> list[tuple[str, str]]:
    """The two elements around a place, each with its weight."""
    one, lower = like(b, 1.0, place), b.Floor(place)
    fraction = b.Sub(place, lower)
    return [(lower, b.Sub(one, fraction)), (b.Add(lower, one), fraction)]


def gathered(b: GraphBuilder, flat: str, corner: Sequence[tuple[str, str]], sizes: Sequence[str], rows: str) -> str:
    """flat [N, elements, C], rows (N, P, 1) -> [N, P, C], what one corner adds: its elements by its weight, 0 outside.

    `corner`: of each axis the element's number and its weight, "" for 1; `sizes`: of the axes, int64 [1].
    """
    index, weight = "", ""
    for (element, share), size in zip(corner, sizes, strict=True):
        nothing, one = like(b, 0.0, element), like(b, 1.0, element)
        last = b.Sub(b.CastLike(size, element), one)
        inside = b.Min(b.Max(element, nothing), last)
        here = b.CastLike(b.Equal(inside, element), flat)
        here = b.Mul(here, share) if share else here
        number = b.Cast(inside, to=INT64)
        index = b.Add(b.Mul(index, size), number) if index else number
        weight = b.Mul(weight, here) if weight else here
    places, weights = b.Reshape(index, rows, allowzero=1), b.Reshape(weight, rows, allowzero=1)
    result: str = b.Mul(b.GatherND(flat, places, batch_dims=1), weights)
    return result
