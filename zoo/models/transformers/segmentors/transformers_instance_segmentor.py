"""Segmentors of transformers whose queries have masks, as instances."""

from pathlib import Path
from typing import ClassVar

from torch import Tensor

from zoo.errors import InputError
from zoo.models.transformers.segmentors.transformers_segmentor import MASK_SIZES, TransformersSegmentor
from zoo.registry import MODELS


@MODELS.register_module()
class TransformersInstanceSegmentor(TransformersSegmentor):
    """images float32 [N, 3, H, W], normalised -> the model's queries, for the task InstanceMasks.

    {"class_logits": [N, Q, C + 1], "mask_logits": [N, Q, h, w]}, the masks at the size at which the model's image
    processor makes instances of them. Raises InputError for a model whose queries have no masks.
    """

    heads: ClassVar[tuple[str, ...]] = ("UNIVERSAL_SEGMENTATION",)
    purpose: ClassVar[str] = "instance segmentation"
    task: ClassVar[str] = "InstanceMasks"
    words: ClassVar[str] = "instance"

    def __init__(self, folder: str | Path) -> None:
        super().__init__(folder)
        if not self.has_masks:
            raise InputError(
                f"TransformersInstanceSegmentor: it takes {', '.join(MASK_SIZES)}; transformers makes instances of a "
                f"model of type {self.model.config.model_type} in a way of its own"
            )

    def forward(self, images: Tensor) -> dict[str, Tensor]:  # type: ignore[override]  # of another task
        classes, masks = self.raw(images)
        return {"class_logits": classes, "mask_logits": self.sized(masks)}
