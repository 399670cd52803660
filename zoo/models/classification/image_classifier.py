"""A classifier on any backbone."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from zoo.registry import MODELS


@MODELS.register_module()
class ImageClassifier(nn.Module):
    """images float32 [N, 3, H, W], RGB, 0..1 -> logits [N, `num_classes`].

    `backbone`: a registered module that gives feature maps, of which the last counts, of `in_channels` channels; its
    mean over the image is what a linear layer sees. `dropout`: before that layer, in training alone.
    """

    def __init__(self, backbone: Mapping[str, Any], in_channels: int, num_classes: int, dropout: float = 0.1) -> None:
        super().__init__()
        self.backbone: nn.Module = MODELS.build(dict(backbone))
        self.dropout = nn.Dropout(dropout)
        self.fc = nn.Linear(in_channels, num_classes)

    def forward(self, images: Tensor) -> Tensor:
        features: Tensor = self.backbone(images)[-1].mean(dim=(2, 3))
        logits: Tensor = self.fc(self.dropout(features))
        return logits
