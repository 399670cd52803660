"""Convolutions of chosen places: deformable ones, and those that leave places out."""

import torch.nn.functional as F
from torch import Tensor
from torchvision.ops import deform_conv2d


def deform_conv_forward(
    input: Tensor,  # noqa: A002 - mmcv's name
    weight: Tensor,
    offset: Tensor,
    output: Tensor,
    columns: Tensor,
    ones: Tensor,
    *,
    kW: int,
    kH: int,
    dW: int,
    dH: int,
    padW: int,
    padH: int,
    dilationW: int,
    dilationH: int,
    group: int,
    deformable_group: int,
    im2col_step: int,
) -> None:
    """Writes into `output` the convolution of `input` at places moved by `offset`; groups are read from the shapes."""
    places = (dH, dW), (padH, padW), (dilationH, dilationW)
    output.copy_(deform_conv2d(input, offset, weight, None, *places))


def modulated_deform_conv_forward(
    input: Tensor,  # noqa: A002 - mmcv's name
    weight: Tensor,
    bias: Tensor,
    ones: Tensor,
    offset: Tensor,
    mask: Tensor,
    output: Tensor,
    columns: Tensor,
    *,
    kernel_h: int,
    kernel_w: int,
    stride_h: int,
    stride_w: int,
    pad_h: int,
    pad_w: int,
    dilation_h: int,
    dilation_w: int,
    group: int,
    deformable_group: int,
    with_bias: bool,
) -> None:
    """As deform_conv_forward, each place weighed by `mask`."""
    places = (stride_h, stride_w), (pad_h, pad_w), (dilation_h, dilation_w)
    output.copy_(deform_conv2d(input, offset, weight, bias if with_bias else None, *places, mask))


def masked_im2col_forward(
    im: Tensor,
    mask_h_idx: Tensor,
    mask_w_idx: Tensor,
    col: Tensor,
    *,
    kernel_h: int,
    kernel_w: int,
    pad_h: int,
    pad_w: int,
) -> None:
    """Writes into `col` [C * kernel_h * kernel_w, n] the windows of `im` [1, C, H, W] around the n places."""
    rows = (pad_h, max(kernel_h - 1 - pad_h, 0))
    columns = (pad_w, max(kernel_w - 1 - pad_w, 0))
    padded = F.pad(im, (*columns, *rows))
    width = padded.shape[3] - kernel_w + 1
    col.copy_(F.unfold(padded, (kernel_h, kernel_w))[0][:, mask_h_idx * width + mask_w_idx])


def masked_col2im_forward(
    col: Tensor, mask_h_idx: Tensor, mask_w_idx: Tensor, im: Tensor, *, height: int, width: int, channels: int
) -> None:
    """Writes into `im` [1, C, H, W], at the n places, the values of `col` [C, n]."""
    im[0, :, mask_h_idx, mask_w_idx] = col
