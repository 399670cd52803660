"""Stable sorting: of equal values ONNX's TopK gives the lower index first, in either direction."""

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.symbolic.declaration import symbolic

REASON, WRITTEN_FOR = "no exporter knows the stable overload", "torch 2.15"


@symbolic("aten::sort.stable", reason=REASON, written_for=WRITTEN_FOR)
def sort_stable(b: GraphBuilder, x: str, *, stable: bool | None, dim: int, descending: bool) -> tuple[str, str]:
    """Values and indices int64, along one axis. Where NaN comes is not promised."""
    size = b.Gather(b.Shape(x), b.constant([dim]))
    values, indices = b.TopK(x, size, outputs=2, axis=dim, largest=int(descending), sorted=1)
    return values, indices


@symbolic("aten::argsort.stable", reason=REASON, written_for=WRITTEN_FOR)
def argsort_stable(b: GraphBuilder, x: str, *, stable: bool, dim: int, descending: bool) -> str:
    """Indices int64 alone."""
    return sort_stable(b, x, stable=stable, dim=dim, descending=descending)[1]


@symbolic("aten::msort", reason="torchscript has no translation of it", written_for=WRITTEN_FOR, exporter="torchscript")
def msort(b: GraphBuilder, x: str) -> str:
    """Values, along the first axis."""
    return sort_stable(b, x, stable=True, dim=0, descending=False)[0]
