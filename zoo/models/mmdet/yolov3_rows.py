"""What mmdetection's YOLOv3 makes of its maps: its only kind of map holds the code, the objectness and the classes."""

from typing import Any

import torch
from torch import Tensor

from zoo.models.mmdet.dense_rows import CLASSES, CODES, MapSizes, column, rows_of
from zoo.models.mmdet.one_stage import OneStageRule

OBJECTNESSES = "objectnesses"
CODE = 4


class YOLOv3Rule(OneStageRule):
    """As DenseRule. Boxes are not clipped, as at level final."""

    def names(self, head: Any) -> tuple[str, ...]:  # noqa: ARG002 - the same for each
        """As YOLOX has them."""
        return CLASSES, CODES, OBJECTNESSES

    def rows(self, head: Any, outputs: Any) -> dict[str, Tensor]:
        """cls_scores [N, M, C], bbox_preds [N, M, 4] and objectnesses [N, M, 1], before their sigmoids."""
        rows = rows_of(outputs[0], head.num_attrib)
        codes, objectnesses, classes = torch.split(rows, [CODE, 1, head.num_classes], dim=-1)
        return {CLASSES: classes, CODES: codes, OBJECTNESSES: objectnesses}

    def decoded(self, head: Any, outputs: Any, ends: Tensor, map_sizes: MapSizes) -> tuple[Tensor, Tensor]:  # noqa: ARG002
        """Boxes [N, M, 4], by mmdetection's own coder, and scores [N, M, C]."""
        rows, (maps,) = self.rows(head, outputs), outputs
        centres, sides = torch.split(rows[CODES], 2, dim=-1)
        priors = head.prior_generator.grid_priors(map_sizes(maps), dtype=maps[0].dtype, device=maps[0].device)
        strides = column(priors, head.featmap_strides)
        decoded = head.bbox_coder.decode(torch.cat(priors), torch.cat((centres.sigmoid(), sides), dim=-1), strides)
        boxes: Tensor = getattr(decoded, "tensor", decoded)
        return boxes, rows[CLASSES].sigmoid() * rows[OBJECTNESSES].sigmoid()
