"""SSD and SSDLite: the batch is one entry, and a fixed number of detections is kept for each image.

The candidates are chosen class by class, so the class axis joins the batch axis for NMS: no coordinate offsets.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torchvision.models.detection.anchor_utils import DefaultBoxGenerator
from torchvision.models.detection.ssd import SSD
from torchvision.ops import clip_boxes_to_image

from rewriters.ops.nms_keep import nms_keep
from rewriters.patching.constants import as_ints
from rewriters.patching.fixed_size import require_fixed_size
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.anchor_generator import forward_constant
from rewriters.torchvision_detection.batch_as_one_entry import LOOPS, forward_batch
from rewriters.torchvision_detection.dense import best_slots
from rewriters.torchvision_detection.padded import gather_rows, without
from rewriters.torchvision_detection.versions import WRITTEN_FOR
from rewriters.torchvision_detection.whole_batch import as_whole_batch, is_whole_batch


@rewrites(
    SSD,
    "forward",
    reason=LOOPS,
    written_for=WRITTEN_FOR,
)
def forward_of_fixed_size(
    original: Callable[..., Any], self: SSD, images: Any, targets: Any = None, **options: Any
) -> Any:
    """images float32 [N, 3, H, W] -> [{"boxes" [N, K, 4], "scores" [N, K], "labels" [N, K]}], padded.

    Raises ExportError for a dynamic size and a transform of the user's own that does not resize to a fixed one.
    """
    if self.transform.fixed_size is None and as_whole_batch(images, targets) is not None:
        require_fixed_size("an SSD whose transform has no fixed_size")
    return forward_batch(original, self, images, targets, **options)


@rewrites(
    SSD,
    "postprocess_detections",
    reason="keeps a data-dependent number of boxes for each image and class, which dynamo refuses and which freezes "
    "the batch size under torchscript",
    written_for=WRITTEN_FOR,
)
def postprocess_detections_padded(
    original: Callable[..., Any],
    self: SSD,
    head_outputs: dict[str, Tensor],
    image_anchors: list[Tensor],
    image_shapes: list[tuple[int, int]],
) -> Any:
    """{"cls_logits" [N, A, C], "bbox_regression" [N, A, 4]}, [anchors [A, 4]], one image size ->
    [{"boxes" [N, K, 4], "scores" [N, K], "labels" [N, K]}], best first; empty slots hold zeros and label -1.

    All anchors are decoded: the classes together choose more candidates than there are anchors.
    """
    if not is_whole_batch(image_shapes):
        return NotImplemented
    (anchors,), (image_size,) = image_anchors, image_shapes
    logits, codes = head_outputs["cls_logits"], head_outputs["bbox_regression"]
    count, classes = as_ints(logits.shape[1:])
    top = min(self.topk_candidates, count)
    decoded = self.box_coder.decode_single(codes.reshape(-1, 4), anchors.expand_as(codes).reshape(-1, 4))
    decoded = clip_boxes_to_image(decoded, image_size).reshape(-1, count, 4)
    scores = logits.softmax(dim=-1)[..., 1:].transpose(1, 2)
    scores, index = without(scores, scores > self.score_thresh).topk(top, dim=2)
    boxes = gather_rows(decoded, index.flatten(1))
    scores = scores.reshape(-1, top)
    scores = without(scores, nms_keep(boxes.reshape(-1, top, 4), scores, self.nms_thresh))
    scores = scores.reshape(-1, (classes - 1) * top)
    labels = torch.from_numpy(np.repeat(np.arange(1, classes), top)).to(scores.device)  # numpy: a constant
    return [best_slots(boxes, scores, labels.expand_as(scores), self.detections_per_img)]


rewrites(
    DefaultBoxGenerator,
    "forward",
    reason="is traced into nodes that compute what is fixed by the size of the input; dynamo folds them by itself",
    exporter="torchscript",
    written_for=WRITTEN_FOR,
)(forward_constant)
