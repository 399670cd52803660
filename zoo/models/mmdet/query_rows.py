"""What mmdetection's heads of DETR's kind make of their queries: a row for each."""

from typing import Any

from torch import Tensor
from torchvision.ops import box_convert

from zoo.models.mmdet.dense_rows import CLASSES, CODES, MapSizes, clipped, corner
from zoo.models.mmdet.one_stage import OneStageRule


class QueryRule(OneStageRule):
    """As DenseRule, of queries in place of priors."""

    def names(self, head: Any) -> tuple[str, ...]:  # noqa: ARG002 - the same for each
        """Of the rows."""
        return CLASSES, CODES

    def rows(self, head: Any, outputs: Any) -> dict[str, Tensor]:  # noqa: ARG002 - as every rule
        """Of the last decoder layer: logits [N, Q, C or C + 1]; centres and sides [N, Q, 4] in units of the image."""
        logits, codes = outputs
        return {CLASSES: logits[-1], CODES: codes[-1]}

    def decoded(self, head: Any, outputs: Any, ends: Tensor, map_sizes: MapSizes) -> tuple[Tensor, Tensor]:  # noqa: ARG002
        """Boxes [N, Q, 4], clipped to their images, and scores [N, Q, C] without the background."""
        logits, codes = self.rows(head, outputs).values()
        scores = logits.sigmoid() if head.loss_cls.use_sigmoid else logits.softmax(dim=-1)[..., :-1]
        return clipped(box_convert(codes, "cxcywh", "xyxy") * corner(ends, codes), ends), scores
