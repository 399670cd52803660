"""Depth Anything's head and DPT's neck at a dynamic size."""

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from transformers.models.depth_anything import modeling_depth_anything
from transformers.models.dpt import modeling_dpt

from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites

WRITTEN_FOR = "transformers 5.23"


@rewrites(
    modeling_depth_anything.DepthAnythingDepthEstimationHead,
    "forward",
    reason="int() of the output's size: the exporters keep that of the traced image, torchscript without an error",
    written_for=WRITTEN_FOR,
)
def head_of_any_size(
    _original: Callable[..., Tensor], self: Any, hidden_states: list[Tensor], patch_height: Any, patch_width: Any
) -> Any:
    """Features [N, C, h, w] -> depth float32 [N, H, W], the patches' own size."""
    if has_fixed_size():
        return NotImplemented
    size = (patch_height * self.patch_size, patch_width * self.patch_size)
    features = self.conv1(hidden_states[self.head_in_index])
    features = F.interpolate(features, size=size, mode="bilinear", align_corners=True)
    depth = self.conv3(self.activation1(self.conv2(features)))
    return (self.activation2(depth) * self.max_depth).squeeze(dim=1)


@rewrites(
    modeling_dpt.DPTFeatureFusionLayer,
    "forward",
    reason="whether two maps have the same size is decided for the traced image",
    written_for=WRITTEN_FOR,
)
def fusion_of_any_size(
    original: Callable[..., Tensor], self: Any, hidden_state: Tensor, residual: Tensor | None = None
) -> Any:
    """Features [N, C, h, w] and others of about that size: these are always resized to it."""
    if residual is None or has_fixed_size():
        return NotImplemented
    size = tuple(hidden_state.shape[2:])
    return original(self, hidden_state, F.interpolate(residual, size=size, mode="bilinear", align_corners=False))
