"""torch.nn.functional.interpolate with antialiasing: two products, see antialiasing.py."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rewriters.patching.rewriter import rewrites
from rewriters.patching.rewriting import active_target
from rewriters.torch_functions.antialiasing import FILTERS, antialiased
from zoo.dialect import STANDARD, dialect_of


@rewrites(
    torch.nn.functional,
    "interpolate",
    reason="torchscript refuses antialiasing; dynamo gives an antialiased resize with aligned corners other centres "
    "than torch's; TensorRT has no antialiasing, and OpenVINO leaves it out",
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
    dialect = dialect_of(target.backend)
    lacking = dialect.operator_form == STANDARD or "antialiased Resize" in dialect.lacks
    unwritten = target.exporter == "torchscript" or align_corners or lacking
    resized = mode in FILTERS and input.dim() == 4 and input.is_floating_point()  # noqa: PLR2004
    if not (antialias and unwritten and resized):
        return NotImplemented
    return antialiased(
        input,
        size,
        scale_factor,
        mode,
        align_corners=bool(align_corners),
        recompute_scale_factor=bool(recompute_scale_factor),
    )
