"""RotatedFCOS at its three levels."""

from typing import cast

import torch
from torch import Tensor

from zoo.contract.module_outputs import module_outputs
from zoo.errors import InputError
from zoo.models.detection.rotated_fcos.head import NAMES, places
from zoo.models.detection.rotated_fcos.rotated_fcos import RotatedFCOS
from zoo.tasks.contract import Contract
from zoo.tasks.rotated_detection.proof.contracts import RotatedDetectionFinal


class RotatedFCOSRaw(Contract):
    """-> cls_logits float32 [N, M, C], distances [N, M, 4] in strides, angles [N, M, 1], centerness [N, M, 1].

    M places of all levels; see RotatedFCOSHead.
    """

    raw_names: tuple[str, ...] = NAMES

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        head, _ = self.raw(images)
        return tuple(torch.cat(head[name], dim=1) for name in self.raw_names)

    def raw(self, images: Tensor) -> tuple[dict[str, list[Tensor]], list[Tensor]]:
        """The head's tensors and the pyramid's, by level. The whole model runs: the rest leaves no trace in a graph."""
        model = cast("RotatedFCOS", self.model)
        with module_outputs({"head": model.head, "features": model.backbone}) as seen:
            model(images, **self.forward_options)
        return seen["head"], list(seen["features"].values())


class RotatedFCOSDecoded(RotatedFCOSRaw):
    """-> boxes float32 [N, M, 5] in pixels of the tensor given, scores float32 [N, M, C]; before thresholds and NMS.

    The angle is as the head gives it: no convention has changed it.
    """

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        head, features = self.raw(images)
        model = cast("RotatedFCOS", self.model)
        boxes = model.boxes(head, places(features, model.strides))
        return torch.cat(boxes, dim=1), torch.cat(model.scores(head), dim=1)


class RotatedFCOSFinal(RotatedDetectionFinal):
    """As of every detector of rotated boxes, for images of one size."""

    def detections(self, images: Tensor, image_sizes: Tensor | None) -> list[dict[str, Tensor]]:
        if image_sizes is not None:
            raise InputError(
                "image_sizes with RotatedFCOS: it takes a batch of one size and sees the padding; leave out "
                "--image-sizes and export.inputs.image_sizes"
            )
        return super().detections(images, None)
