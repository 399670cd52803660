"""mmdetection's detectors with padded, masked tensors instead of data-dependent shapes.

The whole batch goes through mmdetection's own methods as the only entry of their lists of images. A head's rewriter
takes the place of its `predict_by_feat` (or `predict_bbox`), of which its results for each image are made.
"""

from zoo.codebases.mmcv_ext import stand_in

stand_in.provide()  # before mmdet is imported, which needs mmcv's operators

from rewriters.mmdetection import (  # noqa: E402 - see above
    deformable_convolution,
    export_branches,
    grid_priors,
    heads,
    instance_segmentor,
    nms_guard,
    roi,
    swin,
    transformers,
    whole_batch,
)

__all__ = [
    "deformable_convolution",
    "export_branches",
    "grid_priors",
    "heads",
    "instance_segmentor",
    "nms_guard",
    "roi",
    "swin",
    "transformers",
    "whole_batch",
]
