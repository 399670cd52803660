"""The families of the segmentors of transformers, as label maps and as instances."""

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, ClassVar, cast

import torch.nn.functional as F
from torch import Tensor, nn

from zoo.contract.coverage import Usage
from zoo.contract.module_outputs import module_outputs
from zoo.errors import InputError
from zoo.families import Contracts, Family, register
from zoo.models.segmentation.coverage import class_coverage
from zoo.models.transformers.segmentors.transformers_instance_segmentor import TransformersInstanceSegmentor
from zoo.models.transformers.segmentors.transformers_segmentor import TransformersSegmentor
from zoo.models.transformers.size_rules import check_square, patch_side
from zoo.target import AxisRange
from zoo.tasks.class_info import IGNORE_LABEL
from zoo.tasks.contract import Contract
from zoo.tasks.instance_masks.proof import InstanceMasksProof
from zoo.tasks.proof import TaskProof
from zoo.tasks.semantic_segmentation.proof import SegmentationProof


class TransformersRaw(Contract):
    """-> what the model's own head gives: see TransformersSegmentor.raw."""

    def __init__(self, model: TransformersSegmentor, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        self.raw_names = model.raw_names

    def forward(self, images: Tensor) -> tuple[Tensor, ...]:
        """The whole model runs: what follows the head leaves no trace in a graph without it."""
        model = cast("TransformersSegmentor", self.model)
        with module_outputs({"outputs": model.model}) as seen:
            model(images, **self.forward_options)
        return model.head_outputs(seen["outputs"])


def _contracts(task: str, proof: type[TaskProof]) -> Contracts:
    """Those of the task, and the head's own tensors."""
    return {(task, level): contract for level, contract in {**proof.contracts, "raw": TransformersRaw}.items()}


@register(TransformersSegmentor)
class TransformersSegmentors(Family):
    """Label maps; at level raw the model's own logits."""

    name: ClassVar[str] = "TransformersSegmentor"
    contracts: ClassVar[Contracts] = _contracts("semantic-segmentation", SegmentationProof)
    rewriters: ClassVar[str | None] = "rewriters.transformers"

    def size_divisor(self, model: Any) -> int:
        """The side of a patch, where the model would drop the rest."""
        return patch_side(model.model.config)

    def check_sides(self, model: Any, sides: Mapping[str, AxisRange]) -> None:
        """Some take square images only."""
        check_square(model.model.config, sides)

    def coverage(self, model: nn.Module, usage: Usage) -> AbstractContextManager[None]:
        """The classes that occur."""
        return class_coverage(model, usage)

    def losses(self, model: nn.Module, batch: Mapping[str, Any]) -> Mapping[str, Tensor]:
        """The cross entropy. Of images float32 [N, 3, H, W] and label_maps int64 [N, H, W]. Raises InputError."""
        if getattr(model, "has_masks", False):
            raise InputError(f"{self.name}: zooport does not train models whose queries have masks; use transformers")
        return {"loss": F.cross_entropy(model(batch["images"]), batch["label_maps"], ignore_index=IGNORE_LABEL)}


@register(TransformersInstanceSegmentor)
class TransformersInstanceSegmentors(TransformersSegmentors):
    """Instances; at level raw the model's own logits."""

    name: ClassVar[str] = "TransformersInstanceSegmentor"
    contracts: ClassVar[Contracts] = _contracts("instance-masks", InstanceMasksProof)

    def coverage(self, model: nn.Module, usage: Usage) -> AbstractContextManager[None]:  # noqa: ARG002
        """What the results show is enough."""
        return nullcontext()
