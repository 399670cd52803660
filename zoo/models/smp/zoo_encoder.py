"""The zoo's narrow ResNet-18 as an encoder of segmentation_models_pytorch. Needs the library: imported with its models.

It takes the backbone of any shipped model of the digits, which no encoder of the library's own does.
"""

from typing import Any

from segmentation_models_pytorch.encoders import encoders
from segmentation_models_pytorch.encoders._base import EncoderMixin
from torch import Tensor, nn

from zoo.models.resnet import ResNet18

NAME = "zoo-resnet18"
BASE_CHANNELS = 16
IMAGE_CHANNELS = 3


class ZooEncoder(nn.Module, EncoderMixin):  # type: ignore[misc]  # the library is untyped
    """images float32 [N, 3, H, W] -> themselves, then `depth` maps, each half as high and wide as the one before."""

    def __init__(self, depth: int, output_stride: int) -> None:
        super().__init__()
        resnet = ResNet18(BASE_CHANNELS)
        for name, part in resnet.named_children():
            self.add_module(name, part)
        self._depth, self._output_stride = depth, output_stride
        self._out_channels = [IMAGE_CHANNELS, BASE_CHANNELS, *resnet.out_channels]  # the library's names

    def get_stages(self) -> dict[int, list[Any]]:
        """The stages that the library may dilate, by their stride."""
        return {16: [self.layer3], 32: [self.layer4]}

    def forward(self, x: Tensor) -> list[Tensor]:
        stem = x
        for name in ("conv1", "bn1", "relu"):
            stem = self.get_submodule(name)(stem)
        maps, below = [x, stem], self.get_submodule("maxpool")(stem)
        for number in range(1, self._depth):
            below = self.get_submodule(f"layer{number}")(below)
            maps.append(below)
        return maps


encoders[NAME] = {"encoder": ZooEncoder, "pretrained_settings": {}, "params": {}}
