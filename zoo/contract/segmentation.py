"""Segmentors at every level."""

from typing import cast

import torch
from torch import Tensor, nn

from zoo.contract.contract import Contract
from zoo.errors import InputError
from zoo.tasks.semantic_segmentation import BYTE_CLASSES


class SegmentationDecoded(Contract):
    """-> logits float32 [N, C, H, W] at the input's size."""

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        logits: Tensor = self.model(images, **self.forward_options)
        return (logits,)


class SegmentationFinal(Contract):
    """-> label_map uint8 [N, H, W] (int32 above 256 classes); of equal logits the lowest label."""

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        logits: Tensor = self.model(images, **self.forward_options)
        dtype = torch.uint8 if logits.shape[1] <= BYTE_CLASSES else torch.int32
        return (logits.argmax(dim=1).to(dtype),)


class SegmentationRaw(Contract):
    """-> logits float32 [N, C, h, w] of the decode head, at its own resolution."""

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        seen: list[Tensor] = []
        head = cast("nn.Module", self.model.decode_head)
        hook = head.register_forward_hook(lambda _module, _args, output: seen.append(output))
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
