"""Depth of every pixel, by models of transformers."""

from pathlib import Path
from typing import ClassVar

import torch.nn.functional as F
from torch import Tensor

from zoo.errors import InputError
from zoo.models.transformers.transformers_model import TransformersModel
from zoo.registry import MODELS

RESIZED = ("depth_anything", "dpt")  # whose image processor only resizes; others flip, cut, or take a field of view


@MODELS.register_module()
class TransformersDepth(TransformersModel):
    """images float32 [N, 3, H, W], normalised -> {"depth": float32 [N, H, W]}, for the task Tensors.

    As `post_process_depth_estimation` of the model's image processor makes it, for the size of the tensor: resized,
    bicubic. Its unit is that of the training: metres, or how near a pixel is, without a unit. Raises InputError for a
    model whose processor does more.
    """

    heads: ClassVar[tuple[str, ...]] = ("DEPTH_ESTIMATION",)
    purpose: ClassVar[str] = "depth estimation"
    task: ClassVar[str] = "Tensors"

    def __init__(self, folder: str | Path) -> None:
        super().__init__(folder)
        kind = self.model.config.model_type
        if kind not in RESIZED:
            raise InputError(
                f"TransformersDepth: transformers post-processes a model of type {kind} in a way of its own; expected "
                f"{' or '.join(RESIZED)}"
            )

    def forward(self, images: Tensor) -> dict[str, Tensor]:
        depth = self.model(pixel_values=images).predicted_depth.unsqueeze(1)
        size = tuple(images.shape[-2:])
        return {"depth": F.interpolate(depth, size=size, mode="bicubic", align_corners=False).squeeze(1)}
