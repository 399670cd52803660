"""Positions of a vision transformer at a dynamic size."""

from collections.abc import Callable
from typing import Any

from timm.layers import helpers

from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites


@rewrites(
    helpers,
    "is_exporting",
    reason="an image of the size of the training is not interpolated for, and torchscript's graph would keep that size",
    written_for="timm 1.0.31",
    exporter="torchscript",
)
def exporting(_original: Callable[..., bool]) -> Any:
    """True, as it is for dynamo: timm then interpolates positions for every size."""
    return NotImplemented if has_fixed_size() else True
