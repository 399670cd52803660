"""GFLHead.predict_by_feat: the distances to a box's sides are the means of distributions.

Source: Li et al., Generalized Focal Loss, NeurIPS 2020.
"""

from collections.abc import Callable, Sequence
from typing import Any

from mmdet.models.dense_heads import GFLHead
from torch import Tensor

from rewriters.mmdetection.candidates import gather_priors, map_priors, with_column
from rewriters.mmdetection.coders import decoded
from rewriters.mmdetection.heads.dense import dense_detections
from rewriters.mmdetection.versions import EACH_IMAGE, WRITTEN_FOR
from rewriters.patching.constants import as_ints
from rewriters.patching.rewriter import rewrites


@rewrites(
    GFLHead,
    "predict_by_feat",
    reason=EACH_IMAGE,
    written_for=WRITTEN_FOR,
    bypasses=("_predict_by_feat_single", "_bbox_post_process"),
)
def predict_padded(
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
    """As heads.dense. Distances count in strides of their level."""
    if rescale or not with_nms or score_factors is not None:
        return NotImplemented
    image_size = batch_img_metas[0]["img_shape"]

    def boxes_of(rows: Tensor, bins: Tensor) -> Tensor:
        centres = [self.anchor_center(level) for level in map_priors(self, cls_scores)]
        priors = gather_priors(with_column(centres, [stride[0] for stride in self.prior_generator.strides]), rows)
        distances = self.integral(bins).reshape(-1, *as_ints(rows.shape[1:]), 4) * priors[..., 2:]
        return decoded(self.bbox_coder, priors[..., :2], distances, image_size)

    return dense_detections(self, cls_scores, bbox_preds, boxes_of, cfg, width=4 * (self.reg_max + 1))
