"""RegionProposalNetwork.forward: a fixed number of proposals for each image.

For each level: the best `pre_nms_top_n` anchors are chosen first, and only those are decoded; proposals that are too
small or score too low, and those that NMS drops, become empty slots; the best `post_nms_top_n` of all levels stay.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torchvision.models.detection.image_list import ImageList
from torchvision.models.detection.rpn import RegionProposalNetwork

from rewriters.engine.constants import as_ints
from rewriters.engine.rewriter import rewrites
from rewriters.ops.nms_keep import nms_keep
from rewriters.torchvision_detection.image_size import ImageSize, clip_boxes, map_size
from rewriters.torchvision_detection.padded import at_least, emptied, gather_rows, top_rows, without
from rewriters.torchvision_detection.versions import WRITTEN_FOR


@rewrites(
    RegionProposalNetwork,
    "forward",
    reason="keeps a data-dependent number of proposals for each image, which dynamo refuses and which freezes the "
    "batch size under torchscript; decodes every anchor although few are kept",
    written_for=WRITTEN_FOR,
    bypasses=("filter_proposals", "_get_top_n_idx"),
)
def forward_padded(
    original: Callable[..., Any],
    self: RegionProposalNetwork,
    images: ImageList,
    features: dict[str, Tensor],
    targets: None = None,
) -> tuple[list[Tensor], dict[str, Tensor]]:
    """-> ([proposals float32 [N, P, 4]], {}), x1 y1 x2 y2 in pixels of the resized image, best first."""
    maps = list(features.values())
    objectness, deltas = self.head(maps)
    (anchors,) = self.anchor_generator(images, maps)
    image_size: ImageSize = images.image_sizes[0]
    boxes, scores = [], []
    first = 0
    for level_objectness, level_deltas in zip(objectness, deltas, strict=True):
        height, width = map_size(level_objectness, image_size)
        count = level_objectness.shape[1] * height * width
        level_boxes, level_scores = _level_proposals(
            self, level_objectness, level_deltas, anchors[first : first + count], image_size
        )
        boxes.append(level_boxes)
        scores.append(level_scores)
        first += count
    all_scores = torch.cat(scores, dim=1)
    best, index = top_rows(all_scores, self.post_nms_top_n(), fixed=True)
    return [emptied(gather_rows(torch.cat(boxes, dim=1), index), best >= 0)], {}


def _level_proposals(
    rpn: Any, objectness: Tensor, deltas: Tensor, anchors: Tensor, image_size: ImageSize
) -> tuple[Tensor, Tensor]:
    """objectness [N, A, H, W], deltas [N, A * 4, H, W], anchors [H * W * A, 4] -> boxes [N, k, 4], scores [N, k]."""
    per_location = objectness.shape[1]
    height, width = map_size(objectness, image_size)
    logits = objectness.permute(0, 2, 3, 1).reshape(-1, height * width * per_location)
    codes = deltas.reshape(-1, per_location, 4, height, width).permute(0, 3, 4, 1, 2)
    codes = codes.reshape(-1, height * width * per_location, 4)
    fixed = not isinstance(image_size, Tensor)
    logits, index = top_rows(logits, rpn.pre_nms_top_n(), fixed=fixed)
    decoded = rpn.box_coder.decode_single(gather_rows(codes, index).reshape(-1, 4), anchors[index.reshape(-1)])
    boxes = clip_boxes(decoded.reshape(-1, *as_ints(index.shape[1:]), 4), image_size)
    scores = logits.sigmoid()
    valid = at_least(boxes, rpn.min_size) & (scores >= rpn.score_thresh)
    scores = without(scores, valid if fixed else valid & (logits > -torch.inf))
    return boxes, without(scores, nms_keep(boxes, scores, rpn.nms_thresh))
