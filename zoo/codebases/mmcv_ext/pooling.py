"""Pooling of boxes."""

from torch import Tensor
from torchvision.ops import roi_align

from zoo.errors import InputError

AVERAGE = 1  # the pool_mode; 0 is the maximum


def roi_align_forward(
    input: Tensor,  # noqa: A002 - mmcv's name
    rois: Tensor,
    output: Tensor,
    argmax_y: Tensor,
    argmax_x: Tensor,
    *,
    aligned_height: int,
    aligned_width: int,
    spatial_scale: float,
    sampling_ratio: int,
    pool_mode: int,
    aligned: bool,
) -> None:
    """Writes into `output` [R, C, h, w] what roi_align makes of maps [N, C, H, W] and rows [R, 5] of image and box.

    Raises InputError for the maximum in the place of the average, which torchvision does not have.
    """
    if pool_mode != AVERAGE:
        raise InputError(
            "mmcv._ext.roi_align_forward: got pool_mode=\"max\", which zooport's stand-in for mmcv's operators does "
            'not have; use pool_mode="avg", or install mmcv with its operators'
        )
    size = (aligned_height, aligned_width)
    output.copy_(roi_align(input, rois, size, spatial_scale, max(sampling_ratio, 0) or -1, aligned))
