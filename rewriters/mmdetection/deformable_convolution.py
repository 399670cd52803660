"""mmcv's deformable convolutions, as torchvision's, which both exporters know.

Source: Dai et al., Deformable Convolutional Networks, ICCV 2017; Zhu et al., Deformable ConvNets v2, CVPR 2019.
"""

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torchvision.ops
from torch import Tensor

from rewriters.patching.rewriter import rewrites

REASON = "a function of mmcv's own that no exporter knows: torchscript writes a node that only mmdeploy's runtime has"
WRITTEN_FOR = "mmcv 2.1.0, onedl-mmcv 2.3.6"
Sides = int | tuple[int, int]


@rewrites(import_module("mmcv.ops.deform_conv"), "deform_conv2d", reason=REASON, written_for=WRITTEN_FOR)
def deformable(
    _original: Callable[..., Any],
    input: Tensor,  # noqa: A002 - mmcv's name
    offset: Tensor,
    weight: Tensor,
    stride: Sides = 1,
    padding: Sides = 0,
    dilation: Sides = 1,
    *_groups: Any,
    **_options: Any,
) -> Tensor:
    """The groups are read from the shapes."""
    result: Tensor = torchvision.ops.deform_conv2d(input, offset, weight, None, stride, padding, dilation)
    return result


@rewrites(
    import_module("mmcv.ops.modulated_deform_conv"), "modulated_deform_conv2d", reason=REASON, written_for=WRITTEN_FOR
)
def modulated(
    _original: Callable[..., Any],
    input: Tensor,  # noqa: A002 - mmcv's name
    offset: Tensor,
    mask: Tensor,
    weight: Tensor,
    bias: Tensor | None = None,
    stride: Sides = 1,
    padding: Sides = 0,
    dilation: Sides = 1,
    *_groups: Any,
    **_options: Any,
) -> Tensor:
    """The groups are read from the shapes."""
    result: Tensor = torchvision.ops.deform_conv2d(input, offset, weight, bias, stride, padding, dilation, mask)
    return result
