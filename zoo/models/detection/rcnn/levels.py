"""What torchvision's R-CNNs give before their NMS."""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
from torch import Tensor
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN

from zoo.contract.coordinates import in_given_frame, size_tensor
from zoo.contract.module_outputs import module_outputs
from zoo.contract.padding import batched
from zoo.contract.valid_regions import valid_regions
from zoo.tasks.contract import Contract


class TwoStageRaw(Contract):
    """-> proposals float32 [N, P, 4], class_logits float32 [N, P, C], box_regression float32 [N, P, C * 4].

    Proposals in pixels of the detector's own resized image; unused slots hold zeros.
    """

    raw_names: tuple[str, ...] = ("proposals", "class_logits", "box_regression")

    def __init__(self, model: GeneralizedRCNN, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        self.num_slots: int = model.rpn.post_nms_top_n()

    def forward(self, images: Tensor, image_sizes: Tensor | None = None) -> tuple[Tensor, ...]:
        return self.raw(images, image_sizes)[:3]

    def raw(self, images: Tensor, image_sizes: Tensor | None) -> tuple[Tensor, Tensor, Tensor, list[Any]]:
        """The level's tensors, and the (h, w) of each resized image."""
        model = cast("GeneralizedRCNN", self.model)
        inputs: Any = images if image_sizes is None else valid_regions(images, image_sizes)
        parts = {"transform": model.transform, "rpn": model.rpn, "predictor": model.roi_heads.box_predictor}
        with module_outputs(parts) as seen:
            model(inputs, **self.forward_options)
        proposals: list[Tensor] = seen["rpn"][0]
        used = batched([torch.ones_like(entry[..., :1]) for entry in proposals], self.num_slots, rank=3)
        if len(proposals) == 1:  # one image, or the padded batch: its empty slots have no area
            used = used * (proposals[0][..., 2:3] > proposals[0][..., :1])
        heads = [batched(_split_like(proposals, tensor), self.num_slots, rank=3) * used for tensor in seen["predictor"]]
        boxes = batched(proposals, self.num_slots, rank=3)
        return boxes, heads[0], heads[1], seen["transform"][0].image_sizes


class TwoStageDecoded(TwoStageRaw):
    """-> boxes float32 [N, P, C, 4] for each class, scores float32 [N, P, C] (softmax); before thresholds and NMS.

    Boxes in pixels of the tensor given, as at level final. Unused slots hold zeros.
    """

    def forward(self, images: Tensor, image_sizes: Tensor | None = None) -> tuple[Tensor, ...]:
        proposals, logits, regression, resized = self.raw(images, image_sizes)
        coder = cast("GeneralizedRCNN", self.model).roi_heads.box_coder
        boxes = coder.decode_single(regression.flatten(0, 1), proposals.flatten(0, 1))
        boxes = boxes.reshape(*proposals.shape[:2], -1, 4)
        frame = size_tensor(*images.shape[-2:]) if image_sizes is None else image_sizes
        used = (proposals != 0).any(dim=-1, keepdim=True)
        return in_given_frame(boxes, resized, frame), logits.softmax(dim=-1) * used


def _split_like(proposals: Sequence[Tensor], tensor: Tensor) -> list[Tensor]:
    """[all proposals, C] -> an entry for each entry of proposals, shaped as that one is."""
    parts = [tensor] if len(proposals) == 1 else torch.split(tensor, [len(entry) for entry in proposals])
    return [part.reshape(*entry.shape[:-1], part.shape[-1]) for part, entry in zip(parts, proposals, strict=True)]
