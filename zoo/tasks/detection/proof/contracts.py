"""Detections at level final.

A detector of no family is a module whose forward gives torchvision's list of dictionaries. It takes images float32
[N, 3, H, W] and gives a dictionary for each: "boxes" float32 [n, 4], "scores" float32 [n], "labels" int64 [n]; for its
task also "keypoints" [n, P, 3] and "keypoints_scores" [n, P], or "masks" [n, 1, m, m] in cells of the box. Its
attribute `detections_per_img` says how many it gives for an image at most. Inside an export it may give the padded
batch as one entry with a leading batch axis, empty slots being zeros with label -1.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from zoo.contract.padding import batched
from zoo.contract.valid_regions import valid_regions
from zoo.errors import InputError
from zoo.tasks.contract import Contract
from zoo.tasks.task import Task
from zoo.tensor_spec import TensorSpec

EMPTY_LABEL = -1
MAX_DETECTIONS_ATTRIBUTE = "detections_per_img"
NEEDED = ("boxes", "scores", "labels")


def decoded_outputs(task: Task, rows: str = "M") -> tuple[TensorSpec, ...]:
    """Of level decoded: boxes [N, M, 4] and scores [N, M, C] of all M priors, or of whatever `rows` counts."""
    return (
        TensorSpec("boxes", "float32", ("N", rows, 4)),
        TensorSpec("scores", "float32", ("N", rows, len(task.classes))),
    )


class DetectionFinal(Contract):
    """-> num_dets int64 [N], boxes float32 [N, K, 4], scores float32 [N, K], labels int64 [N, K].

    Boxes in pixels of the tensor given; unused slots hold zeros, and label -1. `image_sizes` int64 [N, 2]: where the
    images of a padded batch end, (h, w) with 1 <= h <= H and 1 <= w <= W; the detections are those that the model
    makes of the list of images without their padding.
    """

    def __init__(self, model: nn.Module, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        self.num_slots: int = self.most(model)

    def most(self, model: Any) -> int:
        """How many detections the model gives for an image at most."""
        most: int = model.detections_per_img
        return most

    def forward(self, images: Tensor, image_sizes: Tensor | None = None) -> tuple[Tensor, ...]:
        return self.tensors(self.detections(images, image_sizes))

    def detections(self, images: Tensor, image_sizes: Tensor | None) -> list[dict[str, Tensor]]:
        """The model's own dictionaries, one for each image."""
        inputs = images if image_sizes is None else valid_regions(images, image_sizes)
        detections: list[dict[str, Tensor]] = self.model(inputs, **self.forward_options)
        return detections

    def tensors(self, detections: list[dict[str, Tensor]]) -> tuple[Tensor, ...]:
        """The contract's tensors from torchvision's dictionaries."""
        boxes = self.slots([entry["boxes"] for entry in detections], rank=3)
        scores = self.slots([entry["scores"] for entry in detections], rank=2)
        labels = self.slots([entry["labels"] for entry in detections], rank=2, fill=EMPTY_LABEL)
        return (labels != EMPTY_LABEL).sum(dim=1), boxes, scores, labels

    def slots(self, entries: Sequence[Tensor], *, rank: int, fill: float = 0.0) -> Tensor:
        """Entries [n, ...] of single images, or one padded batch [N, n, ...] of `rank` axes -> [N, K, ...]."""
        return batched(entries, self.num_slots, rank=rank, fill=fill)


class AnyDetectionFinal(DetectionFinal):
    """As DetectionFinal, for images of one size. Raises InputError where the model keeps not to torchvision's form."""

    needed: tuple[str, ...] = NEEDED

    def most(self, model: Any) -> int:
        """The model's own `detections_per_img`. Raises InputError without one."""
        most = getattr(model, MAX_DETECTIONS_ATTRIBUTE, None)
        if not isinstance(most, int) or most < 1:
            raise InputError(
                f"model {type(model).__name__}: {MAX_DETECTIONS_ATTRIBUTE} is {most!r}; give a detector of no family "
                "this attribute, the number of detections that it gives for an image at most, or register a family for "
                "it"
            )
        return most

    def detections(self, images: Tensor, image_sizes: Tensor | None) -> list[dict[str, Tensor]]:
        kind = type(self.model).__name__
        if image_sizes is not None:
            raise InputError(
                f"image_sizes with {kind}: a detector of no family takes a batch of one size; leave out --image-sizes "
                "and export.inputs.image_sizes"
            )
        detections: Any = self.model(images, **self.forward_options)
        for entry in detections if isinstance(detections, list | tuple) else [detections]:
            lacking = [name for name in self.needed if not (isinstance(entry, Mapping) and name in entry)]
            if lacking:
                raise InputError(
                    f"model {kind}: its forward gives no {', '.join(lacking)}, expected a list of dictionaries, one "
                    f"for each image, with {', '.join(self.needed)}"
                )
            self._check(entry, images)
        return list(detections)

    def slots(self, entries: Sequence[Tensor], *, rank: int, fill: float = 0.0) -> Tensor:
        """As DetectionFinal.slots, in a graph whose number of detections is not known."""
        batches = [entry if entry.dim() == rank else entry.unsqueeze(0) for entry in entries]
        empty = [batch.new_full((batch.shape[0], self.num_slots, *batch.shape[2:]), fill) for batch in batches]
        return torch.cat([torch.cat(pair, dim=1)[:, : self.num_slots] for pair in zip(batches, empty, strict=True)])

    def _check(self, entry: Mapping[str, Tensor], images: Tensor) -> None:
        """Of the dictionary of one image, by the unpatched model: an export may give one for the whole batch."""
        if torch.onnx.is_in_onnx_export():
            return
        count = entry["boxes"].shape[0]
        if count > self.num_slots:
            raise InputError(
                f"model {type(self.model).__name__}: gives {count} detections for an image, and its "
                f"{MAX_DETECTIONS_ATTRIBUTE} is {self.num_slots}; keep the best so many, or raise "
                f"{MAX_DETECTIONS_ATTRIBUTE}"
            )
