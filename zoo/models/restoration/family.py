"""The families of SRCNN: at one scale, and at any."""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from zoo.families import Contracts, Family, Scales, register
from zoo.input_specs import SCALE
from zoo.models.restoration.any_scale_srcnn import AnyScaleSRCNN
from zoo.models.restoration.luma import luma
from zoo.models.restoration.srcnn import SRCNN
from zoo.tasks.super_resolution.proof.contracts import SuperResolutionFinal


class AnyScaleFinal(SuperResolutionFinal):
    """-> the output of SuperResolutionFinal, s being the input `scale` int64 [1], by default the model's own."""

    settings = (SCALE,)

    def __init__(self, model: AnyScaleSRCNN, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        self.defaults = {SCALE.name: model.scale}

    def forward(self, images: Tensor, scale: Tensor | None = None) -> tuple[Tensor, ...]:
        return (self.model(images, scale, **self.forward_options).clamp(0.0, 1.0),)


@register(SRCNN)
class SRCNNFamily(Family):
    """One scale for each model."""

    name: ClassVar[str] = "SRCNN"
    contracts: ClassVar[Contracts] = {("super-resolution", "final"): SuperResolutionFinal}

    def scales(self, model: nn.Module) -> Scales:
        """The one that it is built for."""
        scale = cast("SRCNN", model).scale
        return Scales((scale,), scale, is_input=False)

    def losses(self, model: Any, batch: Mapping[str, Any]) -> Mapping[str, Tensor]:
        """The mean squared error, as in the paper, of what the network changes: the luma, or red, green and blue.

        Of images float32 [N, 3, h, w] and targets [N, 3, h * s, w * s].
        """
        enlarged, targets = self._enlarged(model, batch), batch["targets"]
        if cast("SRCNN", model).channels == "y":
            enlarged, targets = luma(enlarged), luma(targets)
        return {"loss": F.mse_loss(enlarged, targets)}

    def _enlarged(self, model: Any, batch: Mapping[str, Any]) -> Tensor:
        """The images as large as the targets."""
        enlarged: Tensor = model(batch["images"])
        return enlarged


@register(AnyScaleSRCNN)
class AnyScaleSRCNNFamily(SRCNNFamily):
    """The scale is an input."""

    name: ClassVar[str] = "AnyScaleSRCNN"
    contracts: ClassVar[Contracts] = {("super-resolution", "final"): AnyScaleFinal}
    rewriters: ClassVar[str | None] = "rewriters.restoration"

    def scales(self, model: nn.Module) -> Scales:
        """Those that it is trained for."""
        restorer = cast("AnyScaleSRCNN", model)
        return Scales(restorer.scales, restorer.scale, is_input=True)

    def _enlarged(self, model: Any, batch: Mapping[str, Any]) -> Tensor:
        """At the scale of the batch."""
        scale = batch["targets"].shape[2] // batch["images"].shape[2]
        enlarged: Tensor = model(batch["images"], torch.tensor([scale]))
        return enlarged
