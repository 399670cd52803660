"""Swin's padding at a dynamic size: how much is computed in the graph, and 0 where nothing is missing."""

from collections.abc import Callable, Sequence
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from transformers.models.maskformer import modeling_maskformer_swin
from transformers.models.swin import modeling_swin

from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites

REASON = "whether a side is padded is decided while tracing: the graph fails at a size that needs other padding"
WRITTEN_FOR = "transformers 5.23"
PADDED = (0, 0, 0, 1, 0, 1)  # what the caller cuts off again where it is more than 0: cutting nothing is right as well


def missing(size: Any, divisor: int) -> Any:
    """How much a side lacks to the next multiple; `size` may be traced."""
    return (divisor - size % divisor) % divisor


def pad_to_patches(_original: Callable[..., Tensor], self: Any, pixel_values: Tensor, height: Any, width: Any) -> Any:
    """Images [N, 3, H, W], right and below."""
    if has_fixed_size():
        return NotImplemented
    rows, columns = self.patch_size
    return F.pad(pixel_values, (0, missing(width, columns), 0, missing(height, rows)))


def pad_to_pairs(_original: Callable[..., Tensor], _self: Any, input_feature: Tensor, height: Any, width: Any) -> Any:
    """Features [N, H, W, C]."""
    if has_fixed_size():
        return NotImplemented
    return F.pad(input_feature, (0, 0, 0, width % 2, 0, height % 2))


def pad_to_windows(
    original: Callable[..., tuple[Tensor, Sequence[Any]]], self: Any, hidden_states: Tensor, height: Any, width: Any
) -> Any:
    """Features [N, H, W, C], and how much each side was padded."""
    if has_fixed_size():
        return NotImplemented
    return original(self, hidden_states, height, width)[0], PADDED


for _module, _prefix in ((modeling_swin, "Swin"), (modeling_maskformer_swin, "MaskFormerSwin")):
    for _kind, _replacement in (
        ("PatchEmbeddings", pad_to_patches),
        ("PatchMerging", pad_to_pairs),
        ("Layer", pad_to_windows),
    ):
        rewrites(getattr(_module, f"{_prefix}{_kind}"), "maybe_pad", reason=REASON, written_for=WRITTEN_FOR)(
            _replacement
        )
