"""Positions of a vision transformer at a dynamic size."""

from collections.abc import Callable
from threading import get_ident
from typing import Any

import torch
from torch import Tensor
from transformers.models.dinov2.modeling_dinov2 import Dinov2Embeddings
from transformers.models.dinov2_with_registers.modeling_dinov2_with_registers import Dinov2WithRegistersEmbeddings

from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites


def _declare(kind: type) -> None:
    @rewrites(
        kind,
        "interpolate_pos_encoding",
        reason="an image of the size of the training is not interpolated for, and dynamo's graph would keep that size",
        written_for="transformers 5.23",
        exporter="dynamo",
    )
    def interpolated(original: Callable[..., Tensor], self: Any, *arguments: Any, **named: Any) -> Any:
        """As the original does it while torchscript traces: whatever the size of the image."""
        if has_fixed_size():
            return NotImplemented
        jit: Any = torch.jit
        is_tracing, exporting = jit.is_tracing, get_ident()
        jit.is_tracing = lambda: get_ident() == exporting or is_tracing()  # other threads run models meanwhile
        try:
            return original(self, *arguments, **named)
        finally:
            jit.is_tracing = is_tracing


for _kind in (Dinov2Embeddings, Dinov2WithRegistersEmbeddings):
    _declare(_kind)
