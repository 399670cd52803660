"""Weights of the zoo's ResNets in the backbones of transformers."""

import re
from collections.abc import Mapping

from torch import Tensor, nn

from zoo.optional_library import optional_library

STEM = (("conv1.", "embedder.embedder.convolution."), ("bn1.", "embedder.embedder.normalization."))
BLOCK = (
    ("conv1.", "layer.0.convolution."),
    ("bn1.", "layer.0.normalization."),
    ("conv2.", "layer.1.convolution."),
    ("bn2.", "layer.1.normalization."),
    ("conv3.", "layer.2.convolution."),
    ("bn3.", "layer.2.normalization."),
    ("downsample.0.", "shortcut.convolution."),
    ("downsample.1.", "shortcut.normalization."),
)
"""The beginning of a name in a block, as torchvision and mmseg write it, and as transformers does."""


def backbone_in(model: nn.Module) -> nn.Module | None:
    """The backbone of transformers inside a model, which gives its maps as `feature_maps`; None where there is none."""
    kind = optional_library("transformers.backbone_utils", "transformers", "a backbone").BackboneMixin
    return next((part for part in model.modules() if isinstance(part, kind)), None)


def resnet_state(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state dict of a ResNet, such as the zoo's, by the names of transformers' ResNet ("resnet")."""
    return {_name(name): tensor for name, tensor in state.items()}


def _name(name: str) -> str:
    block = re.fullmatch(r"layer(\d)\.(\d+)\.(.+)", name)
    if block is None:
        return _replaced(name, STEM)
    stage, index, rest = block.groups()
    return f"encoder.stages.{int(stage) - 1}.layers.{index}.{_replaced(rest, BLOCK)}"


def _replaced(name: str, beginnings: tuple[tuple[str, str], ...]) -> str:
    for old, new in beginnings:
        if name.startswith(old):
            return new + name.removeprefix(old)
    return name
