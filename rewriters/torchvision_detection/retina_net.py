"""RetinaNet: a fixed number of detections is kept for each image."""

from collections.abc import Callable
from typing import Any

from torch import Tensor
from torchvision.models.detection import RetinaNet

from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.dense import class_aware_detections, level_candidates
from rewriters.torchvision_detection.image_size import ImageSize
from rewriters.torchvision_detection.versions import WRITTEN_FOR
from rewriters.torchvision_detection.whole_batch import is_whole_batch


@rewrites(
    RetinaNet,
    "postprocess_detections",
    reason="keeps a data-dependent number of boxes for each image, which dynamo refuses and which freezes the batch "
    "size under torchscript",
    written_for=WRITTEN_FOR,
)
def postprocess_detections_padded(
    original: Callable[..., Any],
    self: RetinaNet,
    head_outputs: dict[str, list[Tensor]],
    anchors: list[list[Tensor]],
    image_shapes: list[ImageSize],
) -> Any:
    """{"cls_logits": [[N, A, C]], "bbox_regression": [[N, A, 4]]} by level, [[anchors [A, 4]]], one image size ->
    [{"boxes" [N, K, 4], "scores" [N, K], "labels" [N, K]}], best first; empty slots hold zeros and label -1.

    Candidates are ranked by their logits, which order them as their scores do.
    """
    if not is_whole_batch(image_shapes):
        return NotImplemented
    (level_anchors,), (image_size,) = anchors, image_shapes
    logits, codes = head_outputs["cls_logits"], head_outputs["bbox_regression"]
    fixed = not isinstance(image_size, Tensor)
    boxes, best, labels = level_candidates(
        logits, codes, level_anchors, self.box_coder.decode_single, self.topk_candidates, fixed=fixed
    )
    return class_aware_detections(boxes, best.sigmoid(), labels, image_size, logits[0].shape[-1], self)
