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

from rewriters.patching.constants import as_ints
from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites
from rewriters.patching.rewriting import active_target
from rewriters.torch_functions.antialiasing import FILTERS, antialiased
from zoo.dialect import STANDARD, dialect_of


@rewrites(
    torch.nn.functional,
    "interpolate",
    reason="torchscript traces a size read from a shape, so that the graph computes what is fixed and its shapes are "
    "unknown, and refuses antialiasing; dynamo gives an antialiased resize with aligned corners other centres than "
    "torch's; TensorRT has no antialiasing, and OpenVINO leaves it out",
    written_for="torch 2.11 to 2.15",
)
def interpolate_as_torch(
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
    target = active_target()
    torchscript = target.exporter == "torchscript"
    dialect = dialect_of(target.backend)
    lacking = dialect.operator_form == STANDARD or "antialiased Resize" in dialect.lacks
    unwritten = torchscript or align_corners or lacking
    if antialias and unwritten and mode in FILTERS and input.dim() == 4 and input.is_floating_point():  # noqa: PLR2004
        return antialiased(
            input,
            size,
            scale_factor,
            mode,
            align_corners=bool(align_corners),
            recompute_scale_factor=bool(recompute_scale_factor),
        )
    if not torchscript or size is None or not has_fixed_size():
        return NotImplemented
    size = as_ints(size) if isinstance(size, (tuple, list)) else as_ints([size])[0]
    return original(input, size, scale_factor, mode, align_corners, recompute_scale_factor, antialias)
