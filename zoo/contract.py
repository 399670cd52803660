"""A model's own outputs as the tensors of the task's contract. Needs torch.

The modules here run unpatched (they are the reference of every comparison) and inside an export alike. torchvision's
detectors take and give one entry for each image; the export's rewriters let the whole padded batch travel as a single
entry with a leading batch axis, and `_batched` takes both.
"""

from collections.abc import Mapping, Sequence
from typing import Any, cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torchvision.models.detection.generalized_rcnn import GeneralizedRCNN
from torchvision.ops import clip_boxes_to_image

from zoo.errors import InputError
from zoo.tasks import Task
from zoo.tasks.semantic_segmentation import BYTE_CLASSES

EMPTY_LABEL = -1


class Contract(nn.Module):
    """A model with the keyword arguments of its forward; subclasses give the contract's tensors of one level.

    forward: images float32 [N, 3, H, W], RGB, 0..1 -> a tuple of tensors in the order of `task.outputs(level)`.
    """

    num_slots: int | None = None

    def __init__(self, model: nn.Module, forward: Mapping[str, Any]) -> None:
        super().__init__()
        self.model = model
        self.forward_options = dict(forward)
        self.eval()  # a fresh module is in training mode, and the torchscript exporter would leave the model in it


class DetectionFinal(Contract):
    """-> num_dets int64 [N], boxes float32 [N, K, 4], scores float32 [N, K], labels int64 [N, K].

    Boxes in pixels of the tensor given; unused slots hold zeros, and label -1.
    """

    def __init__(self, model: GeneralizedRCNN, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        self.num_slots: int = model.roi_heads.detections_per_img

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        detections: list[dict[str, Tensor]] = self.model(images, **self.forward_options)
        boxes = _batched([entry["boxes"] for entry in detections], self.num_slots, rank=3)
        scores = _batched([entry["scores"] for entry in detections], self.num_slots, rank=2)
        labels = _batched([entry["labels"] for entry in detections], self.num_slots, rank=2, fill=EMPTY_LABEL)
        return (labels != EMPTY_LABEL).sum(dim=1), boxes, scores, labels


class TwoStageRaw(Contract):
    """-> proposals float32 [N, P, 4], class_logits float32 [N, P, C], box_regression float32 [N, P, C * 4].

    Proposals in pixels of the detector's own resized image; unused slots hold zeros.
    """

    def __init__(self, model: GeneralizedRCNN, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        self.num_slots: int = model.rpn.post_nms_top_n()

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return self.raw(images)[:3]

    def raw(self, images: Tensor) -> tuple[Tensor, Tensor, Tensor, list[tuple[int, int]]]:
        """The level's tensors, and the (h, w) of each resized image."""
        model = cast("GeneralizedRCNN", self.model)
        seen: dict[str, Any] = {}
        hooks = [
            module.register_forward_hook(lambda _module, _args, output, name=name: seen.update({name: output}))
            for name, module in (
                ("transform", model.transform),
                ("rpn", model.rpn),
                ("predictor", model.roi_heads.box_predictor),
            )
        ]
        try:
            model(images, **self.forward_options)
        finally:
            for hook in hooks:
                hook.remove()
        proposals: list[Tensor] = seen["rpn"][0]
        used = _batched([torch.ones_like(entry[..., :1]) for entry in proposals], self.num_slots, rank=3)
        if len(proposals) == 1:  # one image, or the padded batch: its empty slots have no area
            used = used * (proposals[0][..., 2:3] > proposals[0][..., :1])
        heads = [
            _batched(_split_like(proposals, tensor), self.num_slots, rank=3) * used for tensor in seen["predictor"]
        ]
        boxes = _batched(proposals, self.num_slots, rank=3)
        return boxes, heads[0], heads[1], seen["transform"][0].image_sizes


class TwoStageDecoded(TwoStageRaw):
    """-> boxes float32 [N, P, C, 4] for each class, scores float32 [N, P, C] (softmax); before thresholds and NMS.

    Boxes in pixels of the tensor given, as at level final.
    """

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        proposals, logits, regression, image_sizes = self.raw(images)
        coder = cast("GeneralizedRCNN", self.model).roi_heads.box_coder
        boxes = coder.decode_single(regression.flatten(0, 1), proposals.flatten(0, 1))
        boxes = boxes.reshape(*proposals.shape[:2], -1, 4)
        if len(set(image_sizes)) > 1:
            raise InputError("level decoded needs images of one size in a batch")
        height, width = image_sizes[0]
        back = torch.tensor([images.shape[-1] / width, images.shape[-2] / height]).repeat(2)
        return clip_boxes_to_image(boxes, (height, width)) * back, logits.softmax(dim=-1)


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


CONTRACTS: dict[tuple[str, str], type[Contract]] = {
    ("detection", "final"): DetectionFinal,
    ("detection", "decoded"): TwoStageDecoded,
    ("detection", "raw"): TwoStageRaw,
    ("semantic-segmentation", "final"): SegmentationFinal,
    ("semantic-segmentation", "decoded"): SegmentationDecoded,
    ("semantic-segmentation", "raw"): SegmentationRaw,
}


def contract_module(model: nn.Module, task: Task, level: str, forward: Mapping[str, Any]) -> Contract:
    """The model with the outputs of `level`, in eval mode. `forward`: keyword arguments of the model's forward.

    Raises InputError where the model's family has no such contract.
    """
    if task.name == "detection" and not isinstance(model, GeneralizedRCNN):
        raise InputError(f"model {type(model).__name__}: expected a torchvision R-CNN for task {task.name}")
    return CONTRACTS[task.name, level](model, forward)


def _batched(entries: Sequence[Tensor], slots: int, *, rank: int, fill: float = 0.0) -> Tensor:
    """Entries [n_i, ...] of single images, or one padded batch [N, n, ...], of `rank` axes -> [N, slots, ...]."""
    batches = [entry if entry.dim() == rank else entry.unsqueeze(0) for entry in entries]
    return torch.cat([_padded(batch, slots - batch.shape[1], fill) for batch in batches])


def _padded(batch: Tensor, missing: int, fill: float) -> Tensor:
    if missing == 0:
        return batch
    return F.pad(batch, [0, 0] * (batch.dim() - 2) + [0, missing], value=fill)


def _split_like(proposals: Sequence[Tensor], tensor: Tensor) -> list[Tensor]:
    """[all proposals, C] -> an entry for each entry of proposals, shaped as that one is."""
    parts = [tensor] if len(proposals) == 1 else torch.split(tensor, [len(entry) for entry in proposals])
    return [part.reshape(*entry.shape[:-1], part.shape[-1]) for part, entry in zip(parts, proposals, strict=True)]
