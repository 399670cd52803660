"""torch.nn.functional.adaptive_avg_pool2d as two products with pooling matrices.

The mean over a cell of rows and columns is the mean of the rows' means, so

    y = R x C^T,    R[i, j] = 1 / (end_i - start_i) where start_i <= j < end_i, else 0,
                    start_i = floor(i h / s),  end_i = ceil((i + 1) h / s)

for an axis of h elements and s cells; C in the same way. Cells overlap where s does not divide h, which no pooling
operator of ONNX has. For a dynamic size the matrices are computed in the graph. Cells that divide a fixed size are
those of an average pool.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rewriters.patching.constants import as_ints, static_size, untraced
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites
from rewriters.patching.rewriting import active_target


@rewrites(
    torch.nn.functional,
    "adaptive_avg_pool2d",
    reason="torchscript has no cells that do not divide the size, nor any of a size that its graph does not know; "
    "dynamo freezes parts of the traced dynamic size, and ONNX Runtime fails at another one",
    written_for="torch 2.11 to 2.15",
)
def adaptive_avg_pool2d_products(
    original: Callable[..., Tensor],
    input: Tensor,  # noqa: A002  # the name that callers may give
    output_size: Any,
) -> Any:
    """As torch.nn.functional.adaptive_avg_pool2d, but for rounding. One cell is left to the exporters."""
    rows, columns = output_size if isinstance(output_size, (tuple, list)) else (output_size, output_size)
    fixed = has_fixed_size()
    if (rows, columns) == (1, 1) or (fixed and active_target().exporter != "torchscript"):
        return NotImplemented
    if fixed:
        rows, columns = (None if cells is None else as_ints([cells])[0] for cells in (rows, columns))
    if fixed and (cell := _cell(input, rows, columns)) is not None:
        return torch.nn.functional.avg_pool2d(input, cell, count_include_pad=False)
    if columns is not None:
        input = input @ _matrix(input, -1, columns, fixed).transpose(0, 1)  # noqa: A001
    if rows is not None:
        input = _matrix(input, -2, rows, fixed) @ input  # noqa: A001
    return input


def _cell(x: Tensor, rows: int | None, columns: int | None) -> tuple[int, ...] | None:
    """(h, w) of the cells at a fixed size; None where they do not divide it."""
    sizes = [(size, cells or size) for size, cells in zip(static_size(x), (rows, columns), strict=True)]
    return None if any(size % cells for size, cells in sizes) else tuple(size // cells for size, cells in sizes)


def _matrix(x: Tensor, axis: int, cells: int, fixed: bool) -> Tensor:
    """[cells, size of the axis], of x's dtype."""
    if fixed:
        size = static_size(x)[axis + 2]
        return untraced(lambda: pooling_matrix(size, cells, x.dtype))
    return pooling_matrix(x.shape[axis], cells, x.dtype)


def pooling_matrix(size: Any, cells: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """[cells, size]: what each element of an axis adds to the mean of each cell. `size` may be traced."""
    cell = torch.arange(cells)[:, None]
    place = torch.arange(size)
    # start <= place < end, as products of integers: (place + 1) s > i h, and place s < (i + 1) h
    inside = ((place + 1) * cells > cell * size) & (place * cells < (cell + 1) * size)
    weights: Tensor = inside.to(dtype)
    return weights / weights.sum(dim=1, keepdim=True)
