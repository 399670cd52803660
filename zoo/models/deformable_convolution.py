"""The modulated deformable convolution: one that chooses, at each place, where to look and how much to weigh it.

Source: Zhu et al., Deformable ConvNets v2: More Deformable, Better Results, CVPR 2019, https://arxiv.org/abs/1811.11168;
parameter names and the order of the offsets as in mmcv.
"""

from torch import Tensor, nn
from torchvision.ops import deform_conv2d

OFFSETS = ".conv_offset."  # in the names of the parameters that a plain convolution lacks


class ModulatedDeformableConv2d(nn.Conv2d):
    """[N, C_in, H, W] -> [N, C_out, h, w], the shape that nn.Conv2d gives.

    A convolution of the input, zero at first, predicts for each place (p) and each of the K = kernel_size**2 points of
    the kernel (k) an offset (dy, dx) in pixels of the input, and a weight m in 0..1 (a sigmoid):

        y(p) = bias + sum over k of  w_k * m_k(p) * x(p + p_k + offset_k(p))

    x between pixels is bilinear, and 0 outside. So a fresh one gives, but for the bias, half of what the plain
    convolution with its weights gives. All groups are one.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        padding: int = 0,
        dilation: int = 1,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, bias=bias)
        self.points = kernel_size**2
        self.conv_offset = nn.Conv2d(in_channels, 3 * self.points, kernel_size, stride, padding, dilation)
        for parameter in self.conv_offset.parameters():
            nn.init.zeros_(parameter)

    def forward(self, x: Tensor) -> Tensor:
        offset, mask = self.conv_offset(x).split((2 * self.points, self.points), dim=1)  # dy and dx alternate
        result: Tensor = deform_conv2d(
            x, offset, self.weight, self.bias, self.stride, self.padding, self.dilation, mask.sigmoid()
        )
        return result
