"""Small models of torchvision's segmentation classes, by their own constructors."""

from collections import OrderedDict
from collections.abc import Callable
from typing import Any, cast

import torch
from torch import Tensor, nn
from torchvision.models.resnet import Bottleneck
from torchvision.models.segmentation import FCN, LRASPP, DeepLabV3
from torchvision.models.segmentation.deeplabv3 import ASPP
from torchvision.models.segmentation.fcn import FCNHead
from torchvision.models.segmentation.lraspp import LRASPPHead

from zoo.models.resnet import ResNet18

CLASSES = 4
WIDTH = 2  # of the first stage; the fourth has 8 times as many channels


class Backbone(nn.Module):
    """images [N, 3, H, W] -> {name: a stage's feature map}, at 1/4 and, dilated, at 1/8."""

    def __init__(self, **stages: int) -> None:
        super().__init__()
        self.body = ResNet18(WIDTH, strides=(1, 2, 1, 1), dilations=(1, 1, 2, 4))
        self.stages = stages

    def forward(self, x: Tensor) -> "OrderedDict[str, Tensor]":
        features = self.body(x)
        return OrderedDict((name, features[stage]) for name, stage in self.stages.items())


def small_fcn() -> FCN:
    """With the auxiliary classifier, as torchvision's weights have it."""
    backbone = Backbone(out=3, aux=2)
    return FCN(backbone, FCNHead(8 * WIDTH, CLASSES), FCNHead(4 * WIDTH, CLASSES))


def small_deeplab() -> DeepLabV3:
    """The head is torchvision's own, but for its 256 channels."""
    head = nn.Sequential(ASPP(8 * WIDTH, (2, 4, 6), out_channels=8), nn.Conv2d(8, CLASSES, 1))
    return DeepLabV3(Backbone(out=3), head)


def small_lraspp() -> LRASPP:
    return LRASPP(Backbone(low=1, high=3), 2 * WIDTH, 8 * WIDTH, CLASSES, inter_channels=8)


SMALL: dict[str, Callable[[], nn.Module]] = {"FCN": small_fcn, "DeepLabV3": small_deeplab, "LRASPP": small_lraspp}


def small_torchvision_segmentor(kind: str, seed: int = 0) -> nn.Module:
    """Random weights, calibrated."""
    torch.manual_seed(seed)
    return calibrated(SMALL[kind]())


def calibrated(model: Any) -> nn.Module:
    """In eval mode, with the batch norm statistics of images and a mean of 0 of each class's logits.

    Residual branches are weak, as in trained networks: with fresh weights a ResNet-101 amplifies the rounding of eager
    float32 to 2.7e-4 of the range of its logits, as measured against float64, which is beyond the project's gate of
    1e-4 before anything is exported; so, to 6e-6.
    """
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None  # the plain average
        if isinstance(module, Bottleneck):
            nn.init.constant_(module.bn3.weight, 0.2)
    images = sample_images(4, 64, 96)
    head = model.classifier
    with torch.no_grad():
        model.train()
        for _ in range(5):
            model(images)
        means = model.eval()(images)["out"].mean(dim=(0, 2, 3))
        last = head.low_classifier if isinstance(head, LRASPPHead) else head[-1]
        last.bias -= means
    return cast("nn.Module", model)


def sample_images(count: int, height: int, width: int, seed: int = 0) -> Tensor:
    """Smooth colours with noise, float32 [count, 3, height, width], 0..1: what differs from place to place."""
    generator = torch.Generator().manual_seed(seed)
    coarse = torch.rand(count, 3, 3, 4, generator=generator)
    smooth = nn.functional.interpolate(coarse, size=(height, width), mode="bicubic", align_corners=False)
    return (0.8 * smooth + 0.2 * torch.rand(smooth.shape, generator=generator)).clamp(0, 1)
