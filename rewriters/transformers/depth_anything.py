"""Depth Anything's head at a dynamic size."""

from collections.abc import Callable
from typing import Any

import torch.nn.functional as F
from torch import Tensor
from transformers.models.depth_anything import modeling_depth_anything

from rewriters.patching.fixed_size import has_fixed_size
from rewriters.patching.rewriter import rewrites


@rewrites(
    modeling_depth_anything.DepthAnythingDepthEstimationHead,
    "forward",
    reason="int() of the output's size: the exporters keep that of the traced image, torchscript without an error",
    written_for="transformers 5.23",
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
