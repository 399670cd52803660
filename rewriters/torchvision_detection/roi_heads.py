"""RoIHeads.postprocess_detections: a fixed number of detections for each image.

The class axis joins the batch axis for NMS, so that boxes of two classes never meet: no coordinate offsets.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torchvision.models.detection.roi_heads import RoIHeads

from rewriters.ops.nms_keep import nms_keep
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.image_size import ImageSize, clip_boxes
from rewriters.torchvision_detection.padded import at_least, emptied, gather_rows, without
from rewriters.torchvision_detection.versions import WRITTEN_FOR
from rewriters.torchvision_detection.whole_batch import WholeBatch, is_whole_batch

MIN_BOX_SIZE = 1e-2  # pixels; torchvision's own constant in postprocess_detections


@rewrites(
    RoIHeads,
    "postprocess_detections",
    reason="keeps a data-dependent number of boxes for each image, which dynamo refuses and which freezes the batch "
    "size under torchscript",
    written_for=WRITTEN_FOR,
)
def postprocess_detections_padded(
    original: Callable[..., Any],
    self: RoIHeads,
    class_logits: Tensor,
    box_regression: Tensor,
    proposals: list[Tensor],
    image_shapes: list[ImageSize],
) -> Any:
    """class_logits [N * P, C], box_regression [N * P, C * 4], [proposals [N, P, 4]], one image size (h, w) ->
    [boxes [N, K, 4]], [scores [N, K]], [labels [N, K]], best first; empty slots hold zeros and label -1.
    """
    if not is_whole_batch(proposals, image_shapes):
        return NotImplemented
    (rois,), (image_size,) = proposals, image_shapes
    slots, classes = rois.shape[1], class_logits.shape[-1]
    boxes = self.box_coder.decode_single(box_regression, rois.reshape(-1, 4)).reshape(-1, slots, classes, 4)
    boxes = clip_boxes(boxes, image_size)[:, :, 1:]
    scores = class_logits.softmax(dim=-1).reshape(-1, slots, classes)[..., 1:]
    valid = (scores > self.score_thresh) & at_least(boxes, MIN_BOX_SIZE)
    valid = valid & (rois[..., 2] > rois[..., 0]).unsqueeze(-1)
    scores = without(scores, valid).transpose(1, 2).reshape(-1, slots)
    boxes = boxes.transpose(1, 2).reshape(-1, slots, 4)
    scores = without(scores, nms_keep(boxes, scores, self.nms_thresh)).reshape(-1, (classes - 1) * slots)
    boxes = boxes.reshape(-1, (classes - 1) * slots, 4)
    best, index = scores.topk(min(self.detections_per_img, (classes - 1) * slots), dim=1)
    used = best >= 0
    labels = torch.where(used, index // slots + 1, -1)
    kept = emptied(gather_rows(boxes, index), used)
    return WholeBatch([kept]), WholeBatch([best * used]), WholeBatch([labels])
