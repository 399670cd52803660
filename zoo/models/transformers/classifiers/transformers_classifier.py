"""The class of an image, by models of transformers."""

from typing import ClassVar

from torch import Tensor

from zoo.models.transformers.transformers_model import TransformersModel
from zoo.registry import MODELS


@MODELS.register_module()
class TransformersClassifier(TransformersModel):
    """images float32 [N, 3, H, W], normalised -> logits [N, C], in the order of id2label.

    A transformer with learned positions takes the size that its config.json names alone, and refuses others.
    """

    heads: ClassVar[tuple[str, ...]] = ("IMAGE_CLASSIFICATION",)
    purpose: ClassVar[str] = "image classification"
    task: ClassVar[str] = "ImageClassification"

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.model(pixel_values=images).logits
        return logits
