"""Where transformers' models call deformable attention: each has its own copy of it, of two forms."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor, nn
from transformers.models.d_fine import modeling_d_fine
from transformers.models.deformable_detr import modeling_deformable_detr
from transformers.models.deimv2 import modeling_deimv2
from transformers.models.lw_detr import modeling_lw_detr
from transformers.models.mask2former import modeling_mask2former
from transformers.models.oneformer import modeling_oneformer
from transformers.models.rf_detr import modeling_rf_detr
from transformers.models.rt_detr import modeling_rt_detr
from transformers.models.rt_detr_v2 import modeling_rt_detr_v2

from rewriters.attention.deformable_attention import deformable_attention
from rewriters.patching.rewriter import rewrites
from zoo.contract.coordinates import size_tensor

REASON = (
    "one operator instead of dozens of nodes for each level, whose sizes torchscript takes from a tensor that it "
    "has frozen; TensorRT's GridSample gave wrong boxes without an error (NVIDIA/TensorRT#4813)"
)
WRITTEN_FOR = "transformers 5.23"
GATHERED = "discrete"  # the method of RT-DETR v2 and its successors that rounds places, for backends without GridSample

Sizes = Sequence[tuple[Any, Any]]
"""(h, w) of each level: numbers, or what stands for them in a trace."""


def attention_module(
    _original: Callable[..., Tensor],
    _self: nn.Module,
    value: Tensor,
    value_spatial_shapes: Tensor,  # noqa: ARG001  # torchscript has frozen it
    value_spatial_shapes_list: Sizes,
    level_start_index: Tensor,  # noqa: ARG001
    sampling_locations: Tensor,
    attention_weights: Tensor,
    im2col_step: int,  # noqa: ARG001  # of the CUDA kernel
) -> Tensor:
    """Places [N, Q, M, L, P, 2] and weights [N, Q, M, L, P], as many points for each level."""
    return attention_function(_original, value, value_spatial_shapes_list, sampling_locations, attention_weights)


def attention_function(
    _original: Callable[..., Tensor],
    value: Tensor,
    value_spatial_shapes: Sizes,
    sampling_locations: Tensor,
    attention_weights: Tensor,
) -> Tensor:
    """As attention_module."""
    levels, points = (int(size) for size in sampling_locations.shape[3:5])
    places, weights = sampling_locations.flatten(3, 4), attention_weights.flatten(3, 4)
    attended: Tensor = deformable_attention(value, _sizes(value_spatial_shapes), places, weights, [points] * levels)
    return attended


def attention_by_points(
    _original: Callable[..., Tensor],
    value: Tensor,
    value_spatial_shapes: Sizes,
    sampling_locations: Tensor,
    attention_weights: Tensor,
    num_points_list: Sequence[int],
    method: str = "default",
) -> Any:
    """Places [N, Q, M, P, 2] and weights [N, Q, M, P], with the number of points of each level."""
    if method == GATHERED:
        return NotImplemented
    sizes = _sizes(value_spatial_shapes)
    return deformable_attention(value, sizes, sampling_locations, attention_weights, list(num_points_list))


def attention_that_is_held(original: Callable[..., Any], self: Any, *arguments: Any, **named: Any) -> Any:
    """Of modules that hold their function of the form attention_by_points as an attribute."""
    held = self.ms_deformable_attn_core

    def attention(*inputs: Any) -> Any:
        attended = attention_by_points(held, *inputs)
        return held(*inputs) if attended is NotImplemented else attended

    self.ms_deformable_attn_core = attention
    try:
        return original(self, *arguments, **named)
    finally:
        self.ms_deformable_attn_core = held


def _sizes(shapes: Sizes) -> Tensor:
    """int64 [L, 2]."""
    return torch.cat([size_tensor(height, width) for height, width in shapes])


for _module in (modeling_deformable_detr, modeling_lw_detr, modeling_rf_detr, modeling_rt_detr):
    rewrites(_module.MultiScaleDeformableAttention, "forward", reason=REASON, written_for=WRITTEN_FOR)(attention_module)
for _module in (modeling_mask2former, modeling_oneformer):
    rewrites(_module, "multi_scale_deformable_attention", reason=REASON, written_for=WRITTEN_FOR)(attention_function)
rewrites(modeling_rt_detr_v2, "multi_scale_deformable_attention_v2", reason=REASON, written_for=WRITTEN_FOR)(
    attention_by_points
)
for _kind in (modeling_d_fine.DFineMultiscaleDeformableAttention, modeling_deimv2.Deimv2MultiscaleDeformableAttention):
    rewrites(_kind, "forward", reason=REASON, written_for=WRITTEN_FOR)(attention_that_is_held)
