"""predict_by_feat of DETR's head and of those that inherit it: the best queries of each image.

Source: Carion et al., End-to-End Object Detection with Transformers, ECCV 2020.
"""

from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

from mmdet.models.dense_heads import DeformableDETRHead, DETRHead
from torch import Tensor
from torchvision.ops import box_convert

from rewriters.mmdetection.versions import WRITTEN_FOR
from rewriters.patching.constants import as_ints
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.image_size import ImageSize, clip_boxes
from rewriters.torchvision_detection.padded import gather_rows
from zoo.contract.coordinates import size_tensor


def predict_padded(
    _original: Callable[..., Any],
    self: Any,
    layer_cls_scores: Sequence[Tensor],
    layer_bbox_preds: Sequence[Tensor],
    batch_img_metas: Any,
    rescale: bool = False,
) -> Any:
    """Of each decoder layer, of which the last counts: logits [N, Q, C or C + 1], and centres and sides [N, Q, 4] in
    units of the image -> [the results of the whole batch].
    """
    if rescale:
        return NotImplemented
    logits, codes = layer_cls_scores[-1], layer_bbox_preds[-1]
    most = self.test_cfg.get("max_per_img", as_ints(logits.shape[1:2])[0])
    if self.loss_cls.use_sigmoid:
        scores, pairs = logits.sigmoid().flatten(1).topk(most)
        rows = pairs // self.num_classes
        labels = pairs - rows * self.num_classes
    else:
        best, classes = logits.softmax(dim=-1)[..., :-1].max(dim=-1)
        scores, rows = best.topk(most)
        labels = classes.gather(1, rows)
    image_size = batch_img_metas[0]["img_shape"]
    boxes = box_convert(gather_rows(codes, rows), "cxcywh", "xyxy") * box_scale(image_size, codes)
    return [SimpleNamespace(bboxes=clip_boxes(boxes, image_size), scores=scores, labels=labels)]


def box_scale(image_size: ImageSize, codes: Tensor) -> Tensor:
    """[B, 1, 4]: width, height, width, height of the images, or of each."""
    sizes = image_size if isinstance(image_size, Tensor) else size_tensor(*image_size)
    return sizes.flip(-1).repeat(1, 2).to(codes.dtype).unsqueeze(1)


for _head in (DETRHead, DeformableDETRHead):
    rewrites(
        _head,
        "predict_by_feat",
        reason="loops over the images, which freezes the batch size under torchscript and which dynamo refuses",
        written_for=WRITTEN_FOR,
        bypasses=("_predict_by_feat_single",),
    )(predict_padded)
