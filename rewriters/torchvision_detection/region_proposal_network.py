"""RegionProposalNetwork.forward: a fixed number of proposals for each image.

The best `pre_nms_top_n` anchors of each level are chosen first, and only those are decoded; proposals that are too
small or score too low, and those that NMS drops, become empty slots; the best `post_nms_top_n` of all levels stay.
The level axis joins the batch axis for NMS, so that boxes of two levels never meet.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torchvision.models.detection.image_list import ImageList
from torchvision.models.detection.rpn import RegionProposalNetwork

from rewriters.ops.nms_keep import nms_keep
from rewriters.patching.constants import as_ints
from rewriters.patching.rewriter import rewrites
from rewriters.torchvision_detection.image_size import ImageSize, clip_boxes, map_size
from rewriters.torchvision_detection.padded import at_least, emptied, gather_rows, top_rows, without
from rewriters.torchvision_detection.versions import WRITTEN_FOR
from rewriters.torchvision_detection.whole_batch import WholeBatch, is_whole_batch


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
) -> Any:
    """-> ([proposals float32 [N, P, 4]], {}), x1 y1 x2 y2 in pixels of the resized image, best first."""
    if not is_whole_batch(images.image_sizes):
        return NotImplemented
    maps = list(features.values())
    objectness, deltas = self.head(maps)
    (anchors,) = self.anchor_generator(images, maps)
    image_size: ImageSize = images.image_sizes[0]
    logits, codes = zip(*map(_of_anchors, objectness, deltas, [image_size] * len(maps)), strict=True)
    ranks, index = best_of_levels(logits, self.pre_nms_top_n(), fixed=not isinstance(image_size, Tensor))
    levels, slots = as_ints(ranks.shape[1:])
    decoded = self.box_coder.decode_single(
        gather_rows(torch.cat(codes, dim=1), index).reshape(-1, 4), anchors[index.reshape(-1)]
    )
    boxes = clip_boxes(decoded.reshape(-1, levels * slots, 4), image_size).reshape(-1, slots, 4)
    ranks = ranks.reshape(-1, slots)
    scores = ranks.sigmoid()
    valid = at_least(boxes, self.min_size) & (scores >= self.score_thresh) & (ranks > -torch.inf)
    scores = without(scores, valid)
    scores = without(scores, nms_keep(boxes, scores, self.nms_thresh)).reshape(-1, levels * slots)
    best, index = top_rows(scores, self.post_nms_top_n(), fixed=True)
    proposals = emptied(gather_rows(boxes.reshape(-1, levels * slots, 4), index), best >= 0)
    return WholeBatch([proposals]), {}


def _of_anchors(objectness: Tensor, deltas: Tensor, image_size: ImageSize) -> tuple[Tensor, Tensor]:
    """objectness [N, A, H, W], deltas [N, A * 4, H, W] -> logits [N, H * W * A], codes [N, H * W * A, 4]."""
    per_location = objectness.shape[1]
    height, width = map_size(objectness, image_size)
    logits = objectness.permute(0, 2, 3, 1).reshape(-1, height * width * per_location)
    codes = deltas.reshape(-1, per_location, 4, height, width).permute(0, 3, 4, 1, 2)
    return logits, codes.reshape(-1, height * width * per_location, 4)


def best_of_levels(logits: Sequence[Tensor], limit: int, *, fixed: bool) -> tuple[Tensor, Tensor]:
    """The best `limit` anchors of each level: L x [N, A] -> ranks [N, L, k], index int64 [N, L * k] among all anchors.

    A slot that a level does not fill has the rank minus infinity. `fixed`: whether the numbers of anchors are.
    """
    counts = [as_ints(level.shape[1:])[0] if fixed else level.shape[1] for level in logits]
    slots = min(limit, max(counts)) if fixed else limit
    ranks, index = [], []
    first = 0
    for level, count in zip(logits, counts, strict=True):
        best, place = top_rows(level, slots, fixed=fixed and count >= slots)
        ranks.append(best)
        index.append(place + first)
        first += count
    return torch.stack(ranks, dim=1), torch.cat(index, dim=1)
