"""torch.roll, for shifts of any length: those of the exporters are wrong for shifts longer than the axis."""

from collections.abc import Sequence

import numpy as np

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.symbolic.declaration import symbolic

END = int(np.iinfo(np.int64).max)


@symbolic(
    "aten::roll",
    reason="torchscript refuses a roll without axes, and cuts at the shift, so that a shift longer than the axis "
    "moves nothing",
    written_for="torch 2.15",
)
def roll(b: GraphBuilder, x: str, *, shifts: Sequence[int], dims: Sequence[int]) -> str:
    """x cut at -shift modulo the axis, and the parts exchanged; without axes, x as one row."""
    result = x if dims else b.Reshape(x, b.constant([-1]))
    for shift, axis in zip(shifts, dims or [0], strict=True):
        nothing, axes = b.constant([0]), b.constant([axis])
        size = b.Gather(b.Shape(result), axes)
        size = b.Max(size, b.constant([1]))  # an empty axis has no remainder
        cut = b.Mod(b.constant([-shift]), size)  # from 0 to size - 1, as Python's
        result = b.Concat(b.Slice(result, cut, b.constant([END]), axes), b.Slice(result, nothing, cut, axes), axis=axis)
    rolled: str = result if dims else b.Reshape(result, b.Shape(x), allowzero=1)
    return rolled
