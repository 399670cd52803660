"""What torchvision's dense detectors (RetinaNet, FCOS, SSD) give before their thresholds, top-k and NMS."""

from typing import Any, cast

import torch
from torch import Tensor

from zoo.contract.coordinates import in_given_frame, size_tensor
from zoo.contract.module_outputs import module_outputs
from zoo.contract.valid_regions import valid_regions
from zoo.tasks import Task
from zoo.tasks.contract import Contract
from zoo.tasks.detection.proof.contracts import decoded_outputs
from zoo.tensor_spec import TensorSpec


class DenseRaw(Contract):
    """-> cls_logits float32 [N, M, C], bbox_regression float32 [N, M, 4].

    M anchors of all levels, in torchvision's order; bbox_regression in the code of the model's own box coder.
    """

    raw_names: tuple[str, ...] = ("cls_logits", "bbox_regression")

    def forward(self, images: Tensor, image_sizes: Tensor | None = None) -> tuple[Tensor, ...]:
        head, _, _ = self.raw(images, image_sizes)
        return tuple(head[name] for name in self.raw_names)

    def raw(self, images: Tensor, image_sizes: Tensor | None) -> tuple[dict[str, Tensor], Tensor, list[Any]]:
        """The head's tensors by name, the anchors [M, 4] in pixels of the resized images, and their sizes (h, w)."""
        model = cast("Any", self.model)
        inputs = images if image_sizes is None else valid_regions(images, image_sizes)
        parts = {"transform": model.transform, "head": model.head, "anchors": model.anchor_generator}
        with module_outputs(parts) as seen:
            self.model(inputs, **self.forward_options)
        return seen["head"], seen["anchors"][0], seen["transform"][0].image_sizes


class DenseDecoded(DenseRaw):
    """-> boxes float32 [N, M, 4], scores float32 [N, M, C], as the model ranks them; before thresholds, top-k and NMS.

    Boxes in pixels of the tensor given, as at level final.
    """

    def outputs(self, task: Task, level: str) -> tuple[TensorSpec, ...]:  # noqa: ARG002 - this class has one level
        return decoded_outputs(task)

    def forward(self, images: Tensor, image_sizes: Tensor | None = None) -> tuple[Tensor, ...]:
        head, anchors, sizes = self.raw(images, image_sizes)
        codes = head["bbox_regression"]
        boxes = self.decode(codes.reshape(-1, 4), anchors.expand_as(codes).reshape(-1, 4)).reshape(codes.shape)
        frame = size_tensor(*images.shape[-2:]) if image_sizes is None else image_sizes
        return in_given_frame(boxes, sizes, frame), self.scores(head)

    def decode(self, codes: Tensor, anchors: Tensor) -> Tensor:
        """Codes and anchors [B, 4] -> boxes [B, 4] in pixels of the resized images."""
        boxes: Tensor = cast("Any", self.model).box_coder.decode_single(codes, anchors)
        return boxes

    def scores(self, head: dict[str, Tensor]) -> Tensor:
        """What the head gives -> [N, M, C]."""
        return head["cls_logits"].sigmoid()


class FCOSRaw(DenseRaw):
    """-> the outputs of DenseRaw, and bbox_ctrness float32 [N, M, 1]."""

    raw_names = (*DenseRaw.raw_names, "bbox_ctrness")


class FCOSDecoded(DenseDecoded):
    """As DenseDecoded; the score is the geometric mean of the class's and that of being near the centre."""

    def decode(self, codes: Tensor, anchors: Tensor) -> Tensor:
        boxes: Tensor = cast("Any", self.model).box_coder.decode(codes, anchors)
        return boxes

    def scores(self, head: dict[str, Tensor]) -> Tensor:
        return torch.sqrt(head["cls_logits"].sigmoid() * head["bbox_ctrness"].sigmoid())


class SSDDecoded(DenseDecoded):
    """As DenseDecoded; the first column of the scores is the background's."""

    def scores(self, head: dict[str, Tensor]) -> Tensor:
        return head["cls_logits"].softmax(dim=-1)
