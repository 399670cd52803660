"""Segmentors of transformers: a number for every class and pixel, at the images' size."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import torch
import torch.nn.functional as F
from torch import Tensor

from zoo.errors import InputError
from zoo.models.transformers.segmentors.task_words import task_tokens
from zoo.models.transformers.transformers_model import TransformersModel
from zoo.registry import MODELS

LOGITS_DIMS = 4
MASK_SIZES: dict[str, tuple[int, int] | None] = {"maskformer": None, "mask2former": (384, 384), "oneformer": None}
"""Models whose queries have masks, by model_type: the size to which their image processors resize all masks first.

The processors of other such models put the masks together in ways of their own.
"""


@MODELS.register_module()
class TransformersSegmentor(TransformersModel):
    """images float32 [N, 3, H, W], normalised -> float32 [N, C, H, W], the largest of which is the label of a pixel.

    As `post_process_semantic_segmentation` of the model's image processor makes it, for the size of the tensor: the
    model's logits, resized; of models whose queries have masks the sum over all queries of the probability of a class,
    "no object" left out, times the probability of the mask, resized. A label is the class in id2label.
    """

    heads: ClassVar[tuple[str, ...]] = ("SEMANTIC_SEGMENTATION", "UNIVERSAL_SEGMENTATION")
    purpose: ClassVar[str] = "semantic segmentation"
    task: ClassVar[str] = "SemanticSegmentation"
    words: ClassVar[str] = "semantic"
    """The task, for a model that is given it in words."""

    task_inputs: Tensor | None

    def __init__(self, folder: str | Path) -> None:
        super().__init__(folder)
        settings = self.model.config
        self.has_masks = settings.model_type in MASK_SIZES
        self.raw_names = ("class_queries_logits", "masks_queries_logits") if self.has_masks else ("logits",)
        self.register_buffer("task_inputs", task_tokens(folder, settings, self.words), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        outputs = self.raw(images)
        scores = self._sum_over_queries(*outputs) if self.has_masks else outputs[0]
        return _resized(scores, images.shape[-2:])

    def raw(self, images: Tensor) -> tuple[Tensor, ...]:
        """What the model's own head gives, by `raw_names`: logits [N, C, h, w], or those of the queries' classes and
        masks, [N, Q, C + 1] and [N, Q, h, w].
        """
        given: dict[str, Any] = {"pixel_values": images}
        if self.task_inputs is not None:
            given["task_inputs"] = self.task_inputs.expand(images.shape[0], -1)
        return self.head_outputs(self.model(**given))

    def head_outputs(self, outputs: Any) -> tuple[Tensor, ...]:
        """Of the library's own output object: see `raw`."""
        tensors = tuple(getattr(outputs, name) for name in self.raw_names if isinstance(outputs.get(name), Tensor))
        if len(tensors) < len(self.raw_names) or tensors[-1].dim() != LOGITS_DIMS:
            raise InputError(
                f"TransformersSegmentor: a model of type {self.model.config.model_type} does not give logits [N, C, h, "
                f"w]; of models with masks it takes {', '.join(MASK_SIZES)}"
            )
        return tensors

    def _sum_over_queries(self, classes: Tensor, masks: Tensor) -> Tensor:
        """Logits of classes [N, Q, C + 1] and masks [N, Q, h, w] -> [N, C, h, w]."""
        return torch.einsum("nqc, nqhw -> nchw", classes.softmax(dim=-1)[..., :-1], self.sized(masks).sigmoid())

    def sized(self, masks: Tensor) -> Tensor:
        """Logits of masks [N, Q, h, w] at the size at which the model's image processor puts them together."""
        size = MASK_SIZES[self.model.config.model_type]
        return masks if size is None else _resized(masks, size)


def _resized(maps: Tensor, size: Sequence[int]) -> Tensor:
    return F.interpolate(maps, size=tuple(size), mode="bilinear", align_corners=False)
