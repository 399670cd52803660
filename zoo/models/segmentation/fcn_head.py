"""The decode head of a fully convolutional network.

Source: Long et al., Fully Convolutional Networks for Semantic Segmentation, CVPR 2015; parameter names as in mmseg.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from zoo.models.segmentation.resize import resize
from zoo.registry import MODELS


class ConvModule(nn.Module):
    """Convolution, batch norm, ReLU: [N, C_in, H, W] -> [N, C_out, H, W]."""

    def __init__(self, in_channels: int, out_channels: int, kernel_size: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(in_channels, out_channels, kernel_size, padding=kernel_size // 2, bias=False)
        self.bn = nn.BatchNorm2d(out_channels)
        self.activate = nn.ReLU(inplace=True)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.activate(self.bn(self.conv(x)))
        return out


@MODELS.register_module()
class FCNHead(nn.Module):
    """Feature maps of a backbone -> logits [N, num_classes, h, w] at the resolution of the first map in `in_index`.

    Several maps are resized to the first one's size and concatenated (mmseg's `resize_concat`).
    """

    def __init__(
        self,
        in_channels: Sequence[int],
        in_index: Sequence[int],
        channels: int,
        num_classes: int,
        num_convs: int = 2,
        dropout_ratio: float = 0.1,
        align_corners: bool = False,
    ) -> None:
        super().__init__()
        self.in_index = tuple(in_index)
        self.num_classes = num_classes
        self.align_corners = align_corners
        self.convs = nn.Sequential(
            *(ConvModule(sum(in_channels) if i == 0 else channels, channels, 3) for i in range(num_convs))
        )
        self.dropout = nn.Dropout2d(dropout_ratio)
        self.conv_seg = nn.Conv2d(channels, num_classes, 1)

    def forward(self, features: Sequence[Tensor]) -> Tensor:
        chosen = [features[i] for i in self.in_index]
        size = chosen[0].shape[2:]
        x = torch.cat([chosen[0]] + [resize(f, size, self.align_corners) for f in chosen[1:]], dim=1)
        logits: Tensor = self.conv_seg(self.dropout(self.convs(x)))
        return logits
