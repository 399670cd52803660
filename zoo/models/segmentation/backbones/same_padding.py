"""A convolution that pads as much as its input's size asks for.

Source: mmcv's Conv2dAdaptivePadding (behaviour; the code is our own), which is TensorFlow's padding "SAME".
"""

from typing import Any

import torch.nn.functional as F
from torch import Tensor, nn


class SamePaddingConv2d(nn.Conv2d):
    """[N, C_in, H, W] -> [N, C_out, ceil(H / stride), ceil(W / stride)].

    Where the padding cannot be equal on both sides, the right or lower side has one more: a stride of 2 looks at other
    pixels for an even size than for an odd one. Arguments as nn.Conv2d takes them; the padding given is not used.
    Raises ValueError where the kernel is smaller than the stride.
    """

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        if any(kernel < stride for kernel, stride in zip(self.kernel_size, self.stride, strict=True)):
            raise ValueError(f"kernel {self.kernel_size} is smaller than the stride {self.stride}")

    def forward(self, x: Tensor) -> Tensor:
        top, bottom = self._padding(x.shape[2], 0)
        left, right = self._padding(x.shape[3], 1)
        x = F.pad(x, (left, right, top, bottom))
        return F.conv2d(x, self.weight, self.bias, self.stride, 0, self.dilation, self.groups)

    def _padding(self, size: int, axis: int) -> tuple[int, int]:
        """Elements before and after an axis of the image; 0 height, 1 width."""
        stride = self.stride[axis]
        outputs = (size + stride - 1) // stride
        total = (outputs - 1) * stride + (self.kernel_size[axis] - 1) * self.dilation[axis] + 1 - size
        return total // 2, total - total // 2
