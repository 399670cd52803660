"""MmdetDetector before its thresholds and NMS: levels raw and decoded, of the heads in dense_rows."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from zoo.contract.coordinates import size_tensor
from zoo.contract.module_outputs import module_outputs
from zoo.errors import InputError
from zoo.models.mmdet.dense_rows import RULES, class_ranks, rows_of, rule_of
from zoo.tasks import Task
from zoo.tasks.contract import Contract
from zoo.tensor_spec import TensorSpec

CLASSES, CODES = "cls_scores", "bbox_preds"
"""Maps of a dense head, as mmdetection's predict_by_feat calls them. Some heads have factors of the scores as well."""
SIDE = 8  # of the maps on which a head shows what it gives


class MmdetRaw(Contract):
    """-> cls_scores float32 [N, M, C or C + 1], bbox_preds [N, M, W], and of some heads factors [N, M, 1].

    The head's own maps, M priors of all levels in mmdetection's order; bbox_preds in the code of the head. Raises
    InputError for a model whose head has another post-processing than those of dense_rows.
    """

    def __init__(self, model: Any, forward: Mapping[str, Any]) -> None:
        super().__init__(model, forward)
        head = getattr(model.model, "bbox_head", None)
        rule = rule_of(head)
        if rule is None:
            owner = model.model if head is None else head
            raise InputError(
                f"levels raw and decoded: {type(owner).__name__} of mmdetection has neither, and level final alone; "
                f"heads that have them inherit the predict_by_feat of {' or '.join(RULES)} (docs/openmmlab.md)"
            )
        self.rule = rule
        self.raw_names = (CLASSES, CODES, rule.factors)[: number_of_maps(head)]

    def forward(self, images: Tensor, image_sizes: Tensor | None = None) -> tuple[Tensor, ...]:
        return tuple(self.raw(images, image_sizes)[0].values())

    def raw(self, images: Tensor, image_sizes: Tensor | None) -> tuple[dict[str, Tensor], list[Tensor]]:
        """The rows of the head by name, and the priors of each level [A, P]. The whole model runs."""
        head = self.head
        with module_outputs({"head": head}) as seen:
            self.model(images, image_sizes, **self.forward_options)
        maps: tuple[Sequence[Tensor], ...] = seen["head"]
        widths = (head.cls_out_channels, self.rule.width(head), 1)
        rows = {name: rows_of(one, width) for name, one, width in zip(self.raw_names, maps, widths, strict=False)}
        first = maps[0][0]
        options = {"with_stride": True} if self.rule.with_strides else {}
        priors: list[Tensor] = head.prior_generator.grid_priors(
            self.map_sizes(maps[0]), dtype=first.dtype, device=first.device, **options
        )
        return rows, priors

    def map_sizes(self, maps: Sequence[Tensor]) -> list[Any]:
        """(h, w) of each map."""
        return [level.shape[-2:] for level in maps]

    @property
    def head(self) -> Any:
        """mmdetection's own, which has no types."""
        model: Any = self.model
        return model.model.bbox_head


class MmdetDecoded(MmdetRaw):
    """-> boxes float32 [N, M, 4] and scores float32 [N, M, C], a row for each prior; before thresholds and NMS.

    Boxes x1 y1 x2 y2 in pixels of the tensor given, clipped to their image if the head's box coder clips. Scores as at
    level final, with a centerness, an overlap or an objectness in them.
    """

    def outputs(self, task: Task, level: str) -> tuple[TensorSpec, ...]:  # noqa: ARG002 - this class has one level
        return (
            TensorSpec("boxes", "float32", ("N", "M", 4)),
            TensorSpec("scores", "float32", ("N", "M", len(task.classes))),
        )

    def forward(self, images: Tensor, image_sizes: Tensor | None = None) -> tuple[Tensor, ...]:
        rows, priors = self.raw(images, image_sizes)
        ends = size_tensor(*images.shape[-2:]) if image_sizes is None else image_sizes
        boxes = self.rule.boxes(self.head, priors, rows[CODES], ends)
        ranks, activate = class_ranks(self.head, rows[CLASSES])
        scores, factors = activate(ranks), rows.get(self.rule.factors)
        return boxes, scores if factors is None else self.rule.scores(scores, factors.sigmoid())


def number_of_maps(head: Any) -> int:
    """How many kinds of maps a dense head gives: with score factors three, else two."""
    channels = head.in_channels
    if isinstance(channels, int):
        channels = [channels] * head.prior_generator.num_levels
    like = next(head.parameters())
    with torch.no_grad():
        return len(head([like.new_zeros(1, width, SIDE, SIDE) for width in channels]))
