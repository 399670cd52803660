"""torch.nn.functional.interpolate: sizes as plain ints where height and width are fixed, untouched where they vary.

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


@rewrites(
    torch.nn.functional,
    "interpolate",
    reason="a size read from a shape is traced, so the graph computes what is fixed and its shapes become unknown",
    written_for="torch 2.11 to 2.15",
    exporter="torchscript",
)
def interpolate_static(
    original: Callable[..., Tensor],
    input: Tensor,  # noqa: A002  # the name that callers may give
    size: Any = None,
    *args: Any,
    **options: Any,
) -> Tensor:
    """As torch.nn.functional.interpolate."""
    if size is not None and has_fixed_size():
        size = as_ints(size) if isinstance(size, (tuple, list)) else as_ints([size])[0]
    return original(input, size, *args, **options)
