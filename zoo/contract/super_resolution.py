"""Super-resolution, whose one level is final."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor

from zoo.contract.contract import Contract
from zoo.input_specs import SCALE
from zoo.models.restoration import AnyScaleSRCNN


class SuperResolutionFinal(Contract):
    """-> image float32 [N, 3, H * s, W * s], RGB, clipped to 0..1."""

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return (self.model(images, **self.forward_options).clamp(0.0, 1.0),)


class AnyScaleFinal(Contract):
    """-> the output of SuperResolutionFinal, s being the input `scale` int64 [1], by default the model's own."""

    settings = (SCALE,)

    def __init__(self, model: AnyScaleSRCNN, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        self.defaults = {SCALE.name: model.scale}

    def forward(self, images: Tensor, scale: Tensor | None = None) -> tuple[Tensor, ...]:
        return (self.model(images, scale, **self.forward_options).clamp(0.0, 1.0),)
