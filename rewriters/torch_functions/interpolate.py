"""torch.nn.functional.interpolate: sizes as plain ints where height and width are fixed, untouched where they vary.

With antialiasing it becomes two products: see antialiasing.py.

Under torchscript every size read from a shape is a traced tensor. For a fixed size that puts a Shape -> Gather ->
Concat chain in front of each Resize and loses the static shape behind it; for a dynamic size it is what keeps the
output dynamic, so there a cast to int would be silently wrong.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rewriters.engine.constants import as_ints
from rewriters.engine.fixed_size import has_fixed_size
from rewriters.engine.rewriter import rewrites
from rewriters.torch_functions.antialiasing import FILTERS, antialiased


@rewrites(
    torch.nn.functional,
    "interpolate",
    reason="a size read from a shape is traced, so the graph computes what is fixed and its shapes become unknown; "
    "antialiasing is refused",
    written_for="torch 2.11 to 2.15",
    exporter="torchscript",
)
def interpolate_static(
    original: Callable[..., Tensor],
    input: Tensor,  # noqa: A002  # the name that callers may give
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Tensor:
    """As torch.nn.functional.interpolate."""
    if antialias and mode in FILTERS and input.dim() == 4:  # noqa: PLR2004  # all that torch has
        return antialiased(
            input,
            size,
            scale_factor,
            mode,
            align_corners=bool(align_corners),
            recompute_scale_factor=bool(recompute_scale_factor),
        )
    if size is not None and has_fixed_size():
        size = as_ints(size) if isinstance(size, (tuple, list)) else as_ints([size])[0]
    return original(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)


@rewrites(
    torch.nn.functional,
    "interpolate",
    reason="an antialiased resize with aligned corners becomes one with other centres than torch's",
    written_for="torch 2.11 to 2.15",
    exporter="dynamo",
)
def interpolate_aligned(
    original: Callable[..., Tensor],
    input: Tensor,  # noqa: A002  # the name that callers may give
    size: Any = None,
    scale_factor: Any = None,
    mode: str = "nearest",
    align_corners: bool | None = None,
    recompute_scale_factor: bool | None = None,
    antialias: bool = False,
) -> Any:
    """As torch.nn.functional.interpolate."""
    if not (antialias and align_corners and mode in FILTERS and input.dim() == 4):  # noqa: PLR2004
        return NotImplemented
    recompute = bool(recompute_scale_factor)
    return antialiased(input, size, scale_factor, mode, align_corners=True, recompute_scale_factor=recompute)
