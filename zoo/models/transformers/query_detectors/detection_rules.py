"""How the queries of a detector become detections: the rule of each architecture's own image processor.

Source: `post_process_object_detection` of transformers' processors (5.23), before their threshold.
"""

from collections.abc import Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from zoo.errors import InputError, nearest


class Queries(NamedTuple):
    """`scores` float32 [N, Q, C], and `boxes` [N, Q, 4], x1 y1 x2 y2 in units of the image's width and height."""

    scores: Tensor
    boxes: Tensor


class Detections(NamedTuple):
    """`boxes` [N, K, 4], `scores` [N, K], `labels` int64 [N, K]."""

    boxes: Tensor
    scores: Tensor
    labels: Tensor


class DetectionRule(NamedTuple):
    """`has_background`: softmax over the classes and one more, the last, which is left out; else a sigmoid for each.

    With a background each query is one detection, of its best class. Without, the best `most` pairs of a query and a
    class are; None: as many as there are queries.
    """

    has_background: bool
    most: int | None = None

    def number(self, queries: int, classes: int) -> int:
        """How many detections an image has, of so many queries and classes."""
        most = queries if self.most is None else self.most
        return queries if self.has_background else min(most, queries * classes)

    def queries(self, logits: Tensor, boxes: Tensor) -> Queries:
        """Of the model's own outputs: logits [N, Q, C or C + 1] and boxes [N, Q, 4], centre x, y, width, height."""
        centers, sides = boxes[..., :2], boxes[..., 2:]
        corners = torch.cat((centers - sides / 2, centers + sides / 2), dim=-1)
        scores = logits.softmax(dim=-1)[..., :-1] if self.has_background else logits.sigmoid()
        return Queries(scores, corners)

    def detections(self, queries: Queries, count: int) -> Detections:
        """`count` of them for each image, as `number` says, best first: transformers has those of DETR by query."""
        if self.has_background:
            best, classes_of_best = queries.scores.max(dim=-1)
            scores, rows = best.sort(dim=-1, descending=True)
            labels = classes_of_best.gather(1, rows)
        else:
            classes = queries.scores.shape[-1]
            scores, places = queries.scores.flatten(1).topk(count)
            rows, labels = places // classes, places % classes
        return Detections(queries.boxes.gather(1, rows.unsqueeze(-1).expand(-1, -1, 4)), scores, labels)


BACKGROUND, BEST_100, BEST_QUERIES = DetectionRule(True), DetectionRule(False, 100), DetectionRule(False)
RULES: Mapping[str, DetectionRule] = {
    "detr": BACKGROUND,
    "table-transformer": BACKGROUND,
    "yolos": BACKGROUND,
    "conditional_detr": BEST_100,
    "dab-detr": BEST_100,
    "deformable_detr": BEST_100,
    "lw_detr": BEST_100,
    "d_fine": BEST_QUERIES,
    "deimv2": BEST_QUERIES,
    "rf_detr": BEST_QUERIES,
    "rt_detr": BEST_QUERIES,
    "rt_detr_v2": BEST_QUERIES,
}
"""By the `model_type` of an architecture's config."""


def detection_rule(model_type: str) -> DetectionRule:
    """Raises InputError for an architecture whose rule is not known here, naming the nearest."""
    if model_type not in RULES:
        raise InputError(
            f"no rule is known by which the outputs of {model_type} are detections; {nearest(model_type, RULES)}; for "
            "another architecture, write a module that gives torchvision's list of dictionaries (docs/own_model.md)"
        )
    return RULES[model_type]
