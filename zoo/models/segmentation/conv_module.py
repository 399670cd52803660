"""The convolutions of mmseg's models: each with its norm and activation; parameter names as in mmcv."""

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

Layer = Callable[[], nn.Module]
Norm = Callable[[int], nn.Module]
RELU: Layer = partial(nn.ReLU, inplace=True)


class ConvModule(nn.Module):
    """Convolution, norm, activation: [N, C_in, H, W] -> [N, C_out, H/stride, W/stride].

    Padded so that stride 1 keeps the size. `norm` and `activation` make the layers; None leaves them out. The
    convolution has a bias where there is no norm, unless `bias` says otherwise. `conv`: nn.Conv2d or a subclass.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        dilation: int = 1,
        groups: int = 1,
        *,
        norm: Norm | None = nn.BatchNorm2d,
        activation: Layer | None = RELU,
        bias: bool | None = None,
        conv: type[nn.Conv2d] = nn.Conv2d,
    ) -> None:
        super().__init__()
        padding = dilation * (kernel_size // 2)
        bias = norm is None if bias is None else bias
        self.conv = conv(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias)
        self.bn = None if norm is None else norm(out_channels)
        self.activate = None if activation is None else activation()

    def forward(self, x: Tensor) -> Tensor:
        x = self.conv(x)
        if self.bn is not None:
            x = self.bn(x)
        if self.activate is not None:
            x = self.activate(x)
        return x


bare = partial(ConvModule, norm=None, activation=None)
"""A convolution alone, by the names of a ConvModule."""


class DepthwiseSeparableConvModule(nn.Module):
    """A convolution within each channel, then a 1x1 convolution across them; each with norm and activation.

    `activation` is that of both, if `depthwise_activated`; `pointwise_norm` that of the second.
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: int,
        stride: int = 1,
        dilation: int = 1,
        *,
        activation: Layer | None = RELU,
        pointwise_norm: Norm | None = nn.BatchNorm2d,
        depthwise_activated: bool = True,
    ) -> None:
        super().__init__()
        first = activation if depthwise_activated else None
        self.depthwise_conv = ConvModule(
            in_channels, in_channels, kernel_size, stride, dilation, groups=in_channels, activation=first
        )
        self.pointwise_conv = ConvModule(in_channels, out_channels, 1, norm=pointwise_norm, activation=activation)

    def forward(self, x: Tensor) -> Tensor:
        out: Tensor = self.pointwise_conv(self.depthwise_conv(x))
        return out
