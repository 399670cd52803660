"""SingleRoIExtractor.forward: each box is pooled from its own level, the levels are joined by one gather."""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from mmdet.models.roi_heads.roi_extractors import SingleRoIExtractor
from torch import Tensor

from rewriters.mmdetection.versions import WRITTEN_FOR
from rewriters.ops.multi_level_roi_align import multi_level_roi_align
from rewriters.patching.rewriter import rewrites
from zoo.errors import ExportError


@rewrites(
    SingleRoIExtractor,
    "forward",
    reason="scatters each level's boxes into a tensor of all, and their number is data-dependent, which dynamo refuses",
    written_for=WRITTEN_FOR,
)
def forward_one_operator(
    _original: Callable[..., Any],
    self: Any,
    feats: Sequence[Tensor],
    rois: Tensor,
    roi_scale_factor: float | None = None,
) -> Any:
    """feats L x [N, C, h, w], rois [R, 5] of image and box -> [R, C, *output_size]."""
    levels = torch.zeros_like(rois[:, 0], dtype=torch.int64)
    if len(feats) > 1:
        levels = self.map_roi_levels(rois, len(feats))
        if roi_scale_factor is not None:
            rois = self.roi_rescale(rois, roi_scale_factor)
    layers = self.roi_layers[: len(feats)]
    layer = layers[0]
    if type(layer).__name__ != "RoIAlign" or layer.pool_mode != "avg":
        kind = f"{type(layer).__name__}(pool_mode={getattr(layer, 'pool_mode', None)!r})"
        raise ExportError(f"SingleRoIExtractor: got {kind}, expected RoIAlign(pool_mode='avg')")
    scales = [float(each.spatial_scale) for each in layers]
    size, ratio = list(layer.output_size), int(layer.sampling_ratio)
    return multi_level_roi_align(list(feats), rois, levels, scales, size, ratio, bool(layer.aligned))
