"""Stable sorting: of equal values ONNX's TopK gives the lower index first, in either direction.

TensorRT's TopK promises no order of equal values, and takes 3840 elements at most: its sort is not stable.
"""

from rewriters.ops.graph_builder import FLOAT, GraphBuilder
from rewriters.symbolic.declaration import symbolic
from rewriters.symbolic.elementwise import like

REASON, WRITTEN_FOR = "no exporter knows the stable overload", "torch 2.15"


@symbolic("aten::sort.stable", reason=REASON, written_for=WRITTEN_FOR)
def sort_stable(b: GraphBuilder, x: str, *, stable: bool | None, dim: int, descending: bool) -> tuple[str, str]:
    """Values and indices int64, along one axis. What is no number counts as more than any number.

    TopK promises such values no place, so floating tensors are sorted twice: with 0 for them, then by what they are.
    """
    size = b.Gather(b.Shape(x), b.constant([dim]))
    order = {"outputs": 2, "axis": dim, "largest": int(descending), "sorted": 1}
    if b.integral(x):
        values, indices = b.TopK(x, size, **order)
        return values, indices
    none = b.IsNaN(x)
    _, by_value = b.TopK(b.Where(none, like(b, 0.0, x), x), size, **order)
    _, by_kind = b.TopK(b.Cast(b.GatherElements(none, by_value, axis=dim), to=FLOAT), size, **order)
    indices = b.GatherElements(by_value, by_kind, axis=dim)
    return b.GatherElements(x, indices, axis=dim), indices


@symbolic("aten::argsort.stable", reason=REASON, written_for=WRITTEN_FOR)
def argsort_stable(b: GraphBuilder, x: str, *, stable: bool, dim: int, descending: bool) -> str:
    """Indices int64 alone."""
    return sort_stable(b, x, stable=stable, dim=dim, descending=descending)[1]


@symbolic("aten::msort", reason="torchscript has no translation of it", written_for=WRITTEN_FOR, exporter="torchscript")
def msort(b: GraphBuilder, x: str) -> str:
    """Values, along the first axis."""
    return sort_stable(b, x, stable=True, dim=0, descending=False)[0]
