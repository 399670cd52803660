"""torchvision's other poolings of regions, by ONNX's RoiAlign and MaxRoiPool. Both exporters know roi_align itself."""

import numpy as np

from rewriters.ops.graph_builder import INT64, GraphBuilder
from rewriters.symbolic.declaration import symbolic

WRITTEN_FOR = "torch 2.15, torchvision 0.29"


@symbolic(
    "torchvision::roi_pool",
    reason="dynamo calls its own translation with arguments that it does not take",
    written_for=WRITTEN_FOR,
    exporter="dynamo",
)
def roi_pool(
    b: GraphBuilder, x: str, rois: str, *, spatial_scale: float, pooled_height: int, pooled_width: int
) -> tuple[str, str]:
    """x [N, C, H, W], rois [R, 5] -> the largest element of each bin [R, C, h, w]; no indices of these."""
    return b.MaxRoiPool(x, rois, pooled_shape=[pooled_height, pooled_width], spatial_scale=spatial_scale), ""


@symbolic("torchvision::ps_roi_align", reason="no exporter knows torchvision's operator", written_for=WRITTEN_FOR)
def ps_roi_align(
    b: GraphBuilder,
    x: str,
    rois: str,
    *,
    spatial_scale: float,
    pooled_height: int,
    pooled_width: int,
    sampling_ratio: int,
) -> tuple[str, str]:
    """x [N, C * h * w, H, W], rois [R, 5] -> [R, C, h, w]: bin (p, q) is pooled from channels c * h * w + p * w + q.

    RoiAlign of all channels, of which those bins are kept; no channel mapping. A region without
    area at a sampling_ratio <= 0 gives 0, where torchvision divides by its number of samples, and gives NaN.
    One with a reversed side gives 0 there, as in torchvision.
    """
    image, corners = b.Split(rois, b.constant([1, 4]), outputs=2, axis=1)
    if sampling_ratio <= 0:  # of one reversed side RoiAlign makes a negative number of samples, and ends the whole run
        first, last = b.Split(corners, b.constant([2, 2]), outputs=2, axis=1)
        corners = b.Concat(first, b.Max(first, last), axis=1)
    pooled = b.RoiAlign(
        x,
        corners,
        b.Cast(b.Squeeze(image, b.constant([1])), to=INT64),
        coordinate_transformation_mode="half_pixel",
        output_height=pooled_height,
        output_width=pooled_width,
        sampling_ratio=max(sampling_ratio, 0),
        spatial_scale=spatial_scale,
    )
    bins = pooled_height * pooled_width
    regions = b.Shape(rois, start=0, end=1)  # no -1 in a shape, for there may be none
    channels = b.Div(b.Shape(x, start=1, end=2), b.constant([bins]))
    by_bin = b.Reshape(pooled, b.Concat(regions, channels, b.constant([bins * bins]), axis=0), allowzero=1)
    diagonal = b.Gather(by_bin, b.constant(np.arange(bins) * (bins + 1)), axis=2)  # the channel's bin is the pooled one
    out = b.Concat(regions, channels, b.constant([pooled_height, pooled_width]), axis=0)
    return b.Reshape(diagonal, out, allowzero=1), ""
