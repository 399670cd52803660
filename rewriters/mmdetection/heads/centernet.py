"""CenterNetHead.predict_by_feat: the highest places of the heat maps, of all images at once.

Source: Zhou et al., Objects as Points, https://arxiv.org/abs/1904.07850.
"""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from mmdet.models.dense_heads import CenterNetHead
from torch import Tensor

from rewriters.mmdetection.versions import EACH_IMAGE, WRITTEN_FOR
from rewriters.patching.rewriter import rewrites


@rewrites(
    CenterNetHead,
    "predict_by_feat",
    reason=EACH_IMAGE,
    written_for=WRITTEN_FOR,
    bypasses=("_predict_by_feat_single", "_bboxes_nms"),
)
def predict_padded(
    _original: Callable[..., Any],
    self: Any,
    center_heatmap_preds: Sequence[Tensor],
    wh_preds: Sequence[Tensor],
    offset_preds: Sequence[Tensor],
    batch_img_metas: Any = None,
    rescale: bool = True,
    with_nms: bool = False,
) -> Any:
    """Maps of one level -> [the results of the whole batch]: every slot is used. Images have no border."""
    if rescale or with_nms:
        return NotImplemented
    rows, labels = self._decode_heatmap(
        center_heatmap_preds[0],
        wh_preds[0],
        offset_preds[0],
        batch_img_metas[0]["batch_input_shape"],
        k=self.test_cfg.topk,
        kernel=self.test_cfg.local_maximum_kernel,
    )
    return [SimpleNamespace(bboxes=rows[..., :4], scores=rows[..., 4], labels=labels)]
