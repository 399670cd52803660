"""SRCNN with the scale as an input: one model, and one file, for x2, x3 and x4."""

from collections.abc import Sequence
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.errors import InputError
from zoo.models.restoration.srcnn import SRCNN, enlarged
from zoo.registry import MODELS


@MODELS.register_module()
class AnyScaleSRCNN(SRCNN):
    """An SRCNN that takes how many times to enlarge as an input.

    The features of the first two convolutions are multiplied and shifted, each channel by what a linear layer makes of
    1 / scale (Perez et al., FiLM: Visual Reasoning with a General Conditioning Layer, 2018): twice enlarged and four
    times enlarged images lack other details.
    `scales`: those it is trained for; it takes others. `scale`: where it is given none, by default. Other arguments are
    those of SRCNN.
    forward: images [N, 3, H, W], scale int64 [1] -> [N, 3, H * scale, W * scale].
    """

    def __init__(self, scales: Sequence[int] = (2, 3, 4), scale: int = 3, **options: Any) -> None:
        super().__init__(scale, **options)
        if scale not in scales or min(scales) < 1:
            raise InputError(f"AnyScaleSRCNN: got scales {tuple(scales)} and scale {scale}, expected scale among them")
        self.scales = tuple(scales)
        self.film1, self.film2 = (nn.Linear(1, 2 * conv.out_channels) for conv in (self.conv1, self.conv2))
        for layer in (self.film1, self.film2):  # at first, no scale is different from another
            nn.init.zeros_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, images: Tensor, scale: Tensor | None = None) -> Tensor:
        factor = torch.tensor([self.scale], device=images.device) if scale is None else scale
        return self.corrected(enlarged(images, scaled_size(images, factor)), 1 / factor.to(images.dtype))

    def _network(self, images: Tensor, *condition: Tensor) -> Tensor:
        (inverse,) = condition
        features = F.relu(_modulated(self.conv1(images), self.film1(inverse)))
        features = F.relu(_modulated(self.conv2(features), self.film2(inverse)))
        result: Tensor = self.conv3(features)
        return result


def _modulated(features: Tensor, film: Tensor) -> Tensor:
    """Features [N, C, H, W] times 1 + film[:C] plus film[C:], film [2 * C]."""
    gain, shift = film[:, None, None].chunk(2)
    return features * (1 + gain) + shift


def scaled_size(images: Tensor, scale: Tensor) -> tuple[int, int]:
    """The (height, width) of images [N, C, H, W], `scale` (int64 [1]) times enlarged."""
    factor = int(scale.item())
    height, width = images.shape[-2:]
    return height * factor, width * factor
