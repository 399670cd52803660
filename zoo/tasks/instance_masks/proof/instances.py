"""Instances of queries that have a class and a mask each: the rule of MaskFormer and its successors.

The best pairs of a query and a class are the instances, as many as there are queries if nothing else is said. A mask is
where its logit is above 0, and the score is the probability of the class times the mean probability of the mask's own
pixels.

Source: `post_process_instance_segmentation` of transformers' MaskFormerImageProcessor (5.23), before its threshold, as
in https://github.com/facebookresearch/Mask2Former (instance_inference).
"""

from typing import NamedTuple

import torch
from torch import Tensor

EPSILON = 1e-6


class Instances(NamedTuple):
    """`counts` int64 [N]; best first: `scores` [N, K], `labels` int64 [N, K], `masks` bool [N, K, h, w].

    Those whose mask is empty are left out: past the count scores are 0, labels -1, and masks false.
    """

    counts: Tensor
    scores: Tensor
    labels: Tensor
    masks: Tensor


def instances(class_logits: Tensor, mask_logits: Tensor, most: int | None = None) -> Instances:
    """Of queries with logits of classes [N, Q, C + 1], the last of which is no object, and of masks [N, Q, h, w].

    `most`: how many pairs are instances; None: as many as there are queries.
    """
    classes = class_logits.shape[2] - 1
    count = class_logits.shape[1] if most is None else most
    inside = (mask_logits > 0).to(mask_logits.dtype)
    areas = inside.flatten(2).sum(dim=2)  # [N, Q]
    means = (mask_logits.sigmoid() * inside).flatten(2).sum(dim=2) / (areas + EPSILON)
    probabilities, pairs = class_logits.softmax(dim=-1)[..., :-1].flatten(1).topk(count)
    queries, labels = pairs // classes, pairs % classes
    scores, used = probabilities * means.gather(1, queries), areas.gather(1, queries) > 0
    order = torch.where(used, scores, -1.0).topk(count).indices  # empty ones last
    queries, used = queries.gather(1, order), used.gather(1, order)
    labels = torch.where(used, labels.gather(1, order), -1)
    return Instances(used.sum(dim=1), scores.gather(1, order), labels, _of_queries(mask_logits, queries) > 0)


def _of_queries(masks: Tensor, queries: Tensor) -> Tensor:
    """The masks [N, Q, h, w] of queries [N, K] -> [N, K, h, w]: one gather of whole masks for the batch."""
    images = torch.arange(masks.shape[0], device=masks.device).unsqueeze(1)
    rows = (queries + images * masks.shape[1]).flatten()
    return masks.flatten(0, 1).index_select(0, rows).reshape(*queries.shape, *masks.shape[2:])
