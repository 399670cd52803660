"""The operator in eager PyTorch, by torchvision.ops.roi_align."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torchvision.ops import roi_align


@torch.library.custom_op("zooport::multi_level_roi_align", mutates_args=())
def multi_level_roi_align(
    features: Sequence[Tensor],
    rois: Tensor,
    levels: Tensor,
    scales: Sequence[float],
    output_size: Sequence[int],
    sampling_ratio: int,
) -> Tensor:
    """features: L x float32 [N, C, h, w]; rois float32 [R, 5] (image index, x1 y1 x2 y2 in pixels); levels int64 [R],
    0..L-1; scales: pixels of a feature map for a pixel of the image -> pooled float32 [R, C, *output_size].

    Source: torchvision.ops.roi_align (aligned=False), as MultiScaleRoIAlign uses it.
    """
    height, width = output_size
    pooled = rois.new_zeros((len(rois), features[0].shape[1], height, width))
    for level, (feature, scale) in enumerate(zip(features, scales, strict=True)):
        index = (levels == level).nonzero()[:, 0]
        pooled[index] = roi_align(feature, rois[index], (height, width), scale, sampling_ratio)
    return pooled


@multi_level_roi_align.register_fake
def _(
    features: Sequence[Tensor],
    rois: Tensor,
    levels: Tensor,
    scales: Sequence[float],
    output_size: Sequence[int],
    sampling_ratio: int,
) -> Tensor:
    return rois.new_empty((rois.shape[0], features[0].shape[1], output_size[0], output_size[1]))
