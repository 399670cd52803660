"""YOLOv5 at its three levels."""

from typing import cast

import torch
from torch import Tensor

from zoo.contract.module_outputs import module_outputs
from zoo.errors import InputError
from zoo.models.detection.yolov5.yolov5 import YOLOv5
from zoo.tasks import Task
from zoo.tasks.contract import Contract
from zoo.tasks.detection.proof.contracts import DetectionFinal, decoded_outputs
from zoo.tensor_spec import TensorSpec


class YOLOv5Raw(Contract):
    """-> p3, p4, p5 float32 [N, A * (5 + C), H/s, W/s], s = 8, 16, 32: the head's maps after the sigmoid."""

    raw_names: tuple[str, ...] = ("p3", "p4", "p5")

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return self.maps(images)

    def maps(self, images: Tensor) -> tuple[Tensor, ...]:
        """The three maps. The whole model runs: what follows them leaves no trace in a graph without it."""
        model = cast("YOLOv5", self.model)
        with module_outputs({"head": model.head}) as seen:
            model(images, **self.forward_options)
        return tuple(level.sigmoid() for level in seen["head"])


class YOLOv5Decoded(YOLOv5Raw):
    """-> boxes float32 [N, M, 4] in pixels of the tensor given, scores float32 [N, M, C]; before thresholds and NMS."""

    def outputs(self, task: Task, level: str) -> tuple[TensorSpec, ...]:  # noqa: ARG002 - this class has one level
        return decoded_outputs(task)

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        return cast("YOLOv5", self.model).head.decode(self.maps(images))


class UltralyticsDecoded(YOLOv5Decoded):
    """-> output0 float32 [N, 4 + C, M]: the decoded boxes as centre x, centre y, width, height, then the scores.

    As Ultralytics' exporter lays out a detector without NMS, so that its tools load the file.
    """

    def outputs(self, task: Task, level: str) -> tuple[TensorSpec, ...]:  # noqa: ARG002 - this class has one level
        return (TensorSpec("output0", "float32", ("N", 4 + len(task.classes), "M")),)

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        boxes, scores = super().forward(images)
        low, high = boxes[..., :2], boxes[..., 2:]
        return (torch.cat(((low + high) / 2, high - low, scores), dim=-1).transpose(1, 2),)


class YOLOv5Final(DetectionFinal):
    """As every detector's, for images of one size."""

    def outputs(self, task: Task, level: str) -> tuple[TensorSpec, ...]:  # noqa: ARG002 - the same at level plugin
        return task.outputs("final")

    def detections(self, images: Tensor, image_sizes: Tensor | None) -> list[dict[str, Tensor]]:
        if image_sizes is not None:
            raise InputError(
                "image_sizes with YOLOv5: it takes a batch of one size and sees the padding; leave out --image-sizes "
                "and export.inputs.image_sizes"
            )
        return super().detections(images, None)
