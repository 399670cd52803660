"""MmdetDetector before its thresholds and NMS: levels raw and decoded, of the heads in head_rules."""

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from zoo.contract.coordinates import size_tensor
from zoo.errors import InputError
from zoo.models.mmdet.head_rules import ROI_HEADS, RULES, deciding_head, rule_of
from zoo.tasks import Task
from zoo.tasks.contract import Contract
from zoo.tasks.detection.proof.contracts import decoded_outputs
from zoo.tensor_spec import TensorSpec


class MmdetRaw(Contract):
    """-> cls_scores float32 [N, M, C or C + 1], bbox_preds [N, M, W], and of some heads factors [N, M, 1].

    The head's own outputs: of M priors of all levels, in mmdetection's order, or of M queries; bbox_preds in the code
    of the head. Of RoI heads they are of P proposals [N, P, 4], which come first. Raises InputError for a model whose
    head has another post-processing than those of head_rules.
    """

    def __init__(self, model: Any, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        head = deciding_head(model.model)
        rule = rule_of(head)
        if rule is None:
            owner = model.model if head is None else head
            raise InputError(
                f"levels raw and decoded: {type(owner).__name__} of mmdetection has neither, and level final alone; "
                f"heads that have them inherit the predict_by_feat of {' or '.join(RULES)}, or the predict_bbox "
                f"of {' or '.join(ROI_HEADS)} with that of BBoxHead (docs/openmmlab.md)"
            )
        self.rule = rule
        self.raw_names = rule.names(head)

    def forward(self, images: Tensor, image_sizes: Tensor | None = None) -> tuple[Tensor, ...]:
        return tuple(self.rule.rows(self.head, self.head_outputs(images, image_sizes)).values())

    def head_outputs(self, images: Tensor, image_sizes: Tensor | None) -> Any:
        """What the head gives while the whole model runs."""
        return self.rule.outputs(self.model, images, lambda: self.model(images, image_sizes, **self.forward_options))

    def map_sizes(self, maps: Sequence[Tensor]) -> list[Any]:
        """(h, w) of each map."""
        return [level.shape[-2:] for level in maps]

    @property
    def head(self) -> Any:
        """mmdetection's own, which has no types."""
        model: Any = self.model
        return deciding_head(model.model)


class MmdetDecoded(MmdetRaw):
    """-> boxes float32 [N, M, 4] and scores float32 [N, M, C], a row for each prior or query; before any is chosen.

    Of RoI heads boxes [N, P, C, 4] and scores [N, P, C], a row for each proposal; unused slots hold zeros. Boxes
    x1 y1 x2 y2 in pixels of the tensor given, clipped to their image if the head clips. Scores as at level final, with
    a centerness, an overlap or an objectness in them.
    """

    def outputs(self, task: Task, level: str) -> tuple[TensorSpec, ...]:
        if self.rule.boxes_by_class:
            return super().outputs(task, level)
        return decoded_outputs(task)

    def forward(self, images: Tensor, image_sizes: Tensor | None = None) -> tuple[Tensor, ...]:
        ends = size_tensor(*images.shape[-2:]) if image_sizes is None else image_sizes
        return self.rule.decoded(self.head, self.head_outputs(images, image_sizes), ends, self.map_sizes)
