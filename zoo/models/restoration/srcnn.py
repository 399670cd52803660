"""SRCNN: three convolutions that sharpen an enlarged image.

Dong et al., Learning a Deep Convolutional Network for Image Super-Resolution, 2014, https://arxiv.org/abs/1501.00092.
"""

from collections.abc import Sequence

import torch.nn.functional as F
from torch import Tensor, nn

from zoo.errors import InputError, nearest
from zoo.models.restoration.luma import RGB_PER_LUMA, luma
from zoo.registry import MODELS

CHANNELS = {"y": 1, "rgb": 3}
LAYERS = 3


@MODELS.register_module()
class SRCNN(nn.Module):
    """Enlarges images `scale` times: bicubic, in here, then the paper's 9-1-5 network with 64 and 32 filters.

    `channels="y"`: the network sees and fixes the luma alone (BT.601), and Cb and Cr stay bicubic; "rgb": all three.
    `residual`: the network gives what is added to the bicubic image, so that it learns in minutes (Kim et al., Accurate
    Image Super-Resolution Using Very Deep Convolutional Networks, 2016); False, as in the paper: the image itself.
    Unlike the paper's, the convolutions pad with zeros, so that no border is lost.
    forward: float32 [N, 3, H, W], RGB, 0..1 -> [N, 3, H * scale, W * scale], not clipped to 0..1.
    Raises InputError for arguments out of range.
    """

    def __init__(
        self,
        scale: int = 3,
        channels: str = "y",
        *,
        filters: Sequence[int] = (64, 32),
        kernels: Sequence[int] = (9, 1, 5),
        residual: bool = True,
    ) -> None:
        super().__init__()
        if channels not in CHANNELS:
            raise InputError(f'SRCNN: unknown channels "{channels}"; {nearest(str(channels), CHANNELS)}')
        if len(kernels) != LAYERS or len(filters) != LAYERS - 1 or not all(kernel % 2 for kernel in kernels):
            raise InputError(
                f"SRCNN: got kernels {tuple(kernels)} and filters {tuple(filters)}, expected {LAYERS} odd kernels and "
                f"{LAYERS - 1} numbers of filters"
            )
        if scale < 1:
            raise InputError(f"SRCNN: got scale {scale}, expected 1 or more")
        self.scale = scale
        self.channels = channels
        self.residual = residual
        widths = (CHANNELS[channels], *filters, CHANNELS[channels])
        self.conv1, self.conv2, self.conv3 = (
            nn.Conv2d(width, after, kernel, padding=kernel // 2)
            for width, after, kernel in zip(widths, widths[1:], kernels, strict=False)
        )

    def forward(self, images: Tensor) -> Tensor:
        height, width = images.shape[-2:]
        return self.corrected(enlarged(images, (height * self.scale, width * self.scale)))

    def corrected(self, images: Tensor, *condition: Tensor) -> Tensor:
        """Enlarged images [N, 3, H, W] -> the same with the details that the network finds, given a condition."""
        if self.channels == "rgb":
            added = self._network(images, *condition)
            return images + added if self.residual else added
        # of the two affine maps between RGB and YCbCr no more is left than this, because Cb and Cr do not change
        planes = luma(images)
        corrected = self._network(planes, *condition)
        return images + (corrected if self.residual else corrected - planes) * RGB_PER_LUMA

    def _network(self, images: Tensor, *condition: Tensor) -> Tensor:  # noqa: ARG002 - this one has none
        features = F.relu(self.conv2(F.relu(self.conv1(images))))
        result: Tensor = self.conv3(features)
        return result


def enlarged(images: Tensor, size: tuple[int, int]) -> Tensor:
    """Bicubic, between pixel centres, to `size` (height, width)."""
    return F.interpolate(images, size=size, mode="bicubic", align_corners=False)
