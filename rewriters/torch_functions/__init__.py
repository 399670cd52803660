"""Functions of torch and torchvision that a trace records wrongly."""

from rewriters.torch_functions import (
    adaptive_avg_pool2d,
    as_tensor,
    interpolate,
    linspace,
    multihead_attention,
    nms_guard,
    pad,
)

__all__ = ["adaptive_avg_pool2d", "as_tensor", "interpolate", "linspace", "multihead_attention", "nms_guard", "pad"]
