"""The zoo's models as mmengine trains them; the models themselves are not edited."""

from typing import Any

import torch
from mmengine.model import BaseModel
from torch import Tensor, nn
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN


class Trainable(BaseModel):  # type: ignore[misc]  # mmengine is untyped
    """Wraps a model so that a batch of `zoo.datasets.digits_training.collate` gives its dictionary of losses."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, images: Tensor, label_maps: Tensor, targets: list[dict[str, Tensor]], mode: str = "loss"
    ) -> dict[str, Tensor]:
        """Images float32 [N, 3, H, W], label_maps int64 [N, H, W], targets N x {"boxes", "labels"} -> scalar losses."""
        if mode != "loss":
            raise ValueError(f'mode "{mode}": a Trainable only gives losses; use the wrapped model for the rest')
        losses: Any
        images = images.contiguous(memory_format=torch.channels_last)
        if isinstance(self.model, GeneralizedRCNN):
            losses = self.model(list(images), targets)
        else:
            losses = self.model(images, label_maps, mode="loss")
        return dict(losses)
