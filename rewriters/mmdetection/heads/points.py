"""predict_by_feat of FoveaBox and RepPoints: boxes around points, in units of their level.

Source: Kong et al., FoveaBox, TIP 2020; Yang et al., RepPoints, ICCV 2019.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from mmdet.models.dense_heads import FoveaHead, RepPointsHead
from torch import Tensor

from rewriters.mmdetection.candidates import gather_priors, map_priors, with_column
from rewriters.mmdetection.heads.dense import dense_detections
from rewriters.mmdetection.versions import EACH_IMAGE, WRITTEN_FOR
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.image_size import ImageSize, clip_boxes


@rewrites(
    FoveaHead,
    "predict_by_feat",
    reason=EACH_IMAGE,
    written_for=WRITTEN_FOR,
    bypasses=("_predict_by_feat_single", "_bbox_post_process", "_bbox_decode"),
)
def predict_around_points(
    _original: Callable[..., Any],
    self: Any,
    cls_scores: Sequence[Tensor],
    bbox_preds: Sequence[Tensor],
    score_factors: None = None,
    batch_img_metas: Any = None,
    cfg: Any = None,
    rescale: bool = False,
    with_nms: bool = True,
) -> Any:
    """As heads.dense. The sides' distances are powers, in units of the level's base length."""
    if rescale or not with_nms or score_factors is not None:
        return NotImplemented
    last = last_pixel(batch_img_metas[0]["img_shape"])

    def boxes_of(rows: Tensor, codes: Tensor) -> Tensor:
        points = gather_priors(with_column(map_priors(self, cls_scores), self.base_edge_list), rows)
        distances = codes.exp() * points[..., 2:]
        corners = torch.cat((points[..., :2] - distances[..., :2], points[..., :2] + distances[..., 2:]), dim=-1)
        return clip_boxes(corners, last)

    return dense_detections(self, cls_scores, bbox_preds, boxes_of, cfg)


def last_pixel(image_size: ImageSize) -> ImageSize:
    """(h, w) less one, to which FoveaBox clips its boxes."""
    return image_size - 1 if isinstance(image_size, Tensor) else (image_size[0] - 1, image_size[1] - 1)


@rewrites(
    RepPointsHead,
    "predict_by_feat",
    reason=EACH_IMAGE,
    written_for=WRITTEN_FOR,
    bypasses=("_predict_by_feat_single", "_bbox_post_process", "_bbox_decode"),
)
def predict_of_points(
    _original: Callable[..., Any],
    self: Any,
    cls_scores: Sequence[Tensor],
    bbox_preds: Sequence[Tensor],
    score_factors: None = None,
    batch_img_metas: Any = None,
    cfg: Any = None,
    rescale: bool = False,
    with_nms: bool = True,
) -> Any:
    """As heads.dense. Boxes are offsets from a point, in strides."""
    if rescale or not with_nms or score_factors is not None:
        return NotImplemented
    image_size = batch_img_metas[0]["img_shape"]

    def boxes_of(rows: Tensor, codes: Tensor) -> Tensor:
        points = gather_priors(with_column(map_priors(self, cls_scores), self.point_strides), rows)
        return clip_boxes(codes * points[..., 2:] + points[..., :2].repeat(1, 1, 2), image_size)

    return dense_detections(self, cls_scores, bbox_preds, boxes_of, cfg)
