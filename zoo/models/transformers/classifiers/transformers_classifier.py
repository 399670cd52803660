"""The class of an image, by models of transformers."""

from pathlib import Path
from typing import ClassVar

from torch import Tensor

from zoo.errors import InputError
from zoo.models.transformers.architecture import CONFIG
from zoo.models.transformers.transformers_model import TransformersModel
from zoo.registry import MODELS

ONE_CLASS = "single_label_classification"


@MODELS.register_module()
class TransformersClassifier(TransformersModel):
    """images float32 [N, 3, H, W], normalised -> logits [N, C], in the order of id2label.

    A transformer with learned positions takes the size that its config.json names alone, and refuses others.
    """

    heads: ClassVar[tuple[str, ...]] = ("IMAGE_CLASSIFICATION",)
    purpose: ClassVar[str] = "image classification"
    task: ClassVar[str] = "ImageClassification"

    def __init__(self, folder: str | Path) -> None:
        super().__init__(folder)
        if (kind := self.model.config.problem_type) not in (None, ONE_CLASS):
            raise InputError(
                f'{Path(folder) / CONFIG}: "problem_type" is "{kind}", expected "{ONE_CLASS}": the task gives one '
                "class; for another kind wrap the model in a module of your own, with the task Tensors "
                "(docs/own_model.md)"
            )

    def forward(self, images: Tensor) -> Tensor:
        logits: Tensor = self.model(pixel_values=images).logits
        return logits
