"""Segmentors at every level: modules that give logits, or torchvision's {"out": logits}."""

from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor, nn

from zoo.errors import InputError
from zoo.tasks.contract import Contract
from zoo.tasks.semantic_segmentation.proof.model_logits import model_logits
from zoo.tasks.semantic_segmentation.resized_logits import BYTE_CLASSES
from zoo.tasks.semantic_segmentation.task import LOGITS
from zoo.tasks.task import Task

HEADS = ("decode_head", "classifier")  # as mmseg and torchvision call what makes the logits


class SegmentationDecoded(Contract):
    """-> logits float32 [N, C, H, W] at the input's size."""

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return (model_logits(self.model(images, **self.forward_options)),)


class SegmentationFinal(Contract):
    """-> label_map uint8 [N, H, W] (int32 above 256 classes); of equal logits the lowest label.

    `gives_logits`: instead of the label map the logits, which the host resizes to the image.
    """

    gives_logits = False

    @classmethod
    def of_task(cls, model: nn.Module, forward: Mapping[str, Any], task: Task) -> Self:
        """By what the task resizes."""
        contract = cls(model, forward)
        contract.gives_logits = task.options.get("resize") == LOGITS
        return contract

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        logits = model_logits(self.model(images, **self.forward_options))
        if self.gives_logits:
            return (logits,)
        dtype = torch.uint8 if logits.shape[1] <= BYTE_CLASSES else torch.int32
        return (logits.argmax(dim=1).to(dtype),)


class SegmentationRaw(Contract):
    """-> logits float32 [N, C, h, w] of the head, at its own resolution."""

    raw_names: tuple[str, ...] = ("logits",)

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        seen: list[Tensor] = []
        hook = self._head().register_forward_hook(lambda _module, _args, output: seen.append(output))
        try:
            self.model(images, **self.forward_options)
        finally:
            hook.remove()
        if len(seen) != 1:
            raise InputError(
                f"level raw: the decode head ran {len(seen)} times (slide inference), so it has no single output; "
                "use level decoded"
            )
        return (seen[0],)

    def _head(self) -> nn.Module:
        heads = [head for name in HEADS if isinstance(head := getattr(self.model, name, None), nn.Module)]
        if not heads:
            raise InputError(f"level raw: {type(self.model).__name__} has no {' or '.join(HEADS)}; use level decoded")
        return heads[0]
