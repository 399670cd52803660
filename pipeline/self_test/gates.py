"""How far another machine may be from what was proved. Data."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.parity.graph_parity import GraphReference
from zoo.comparison import value_range
from zoo.comparison.decision_rule import DecisionRule
from zoo.tasks.output_role import OutputRole, Roles

# In fp32 the gates of the graph comparison hold, and nothing may lie beyond them.
FROM_PARITY = (
    *("boxes", "scores", "logits", "masks", "image_masks_of_object"),
    *("keypoints", "keypoint_values", "moved_keypoints", "nms_iou"),
)
# Below fp32: see backends.self_test.rounded. `logits`: a label is sure where PyTorch's margin exceeds two of it.
ROUNDED: Mapping[str, float] = {"distance": 0.3, "pixels": 0.001, "logits": 0.03}


def self_test_gates(graph: Mapping[str, float], precision: str, own: Iterable[str] = ()) -> dict[str, float]:
    """``graph``: the gates of the job's graph comparison. ``own``: the names of those that its task alone has."""
    if precision != "fp32":
        return dict(ROUNDED)
    return {name: graph[name] for name in (*FROM_PARITY, *own) if name in graph}


def thresholds(rule: DecisionRule) -> dict[str, float | bool]:
    """The model's own, at which a rounding decides what is found; without those that it has not."""
    bounds = {"score": rule.score, "nms_iou": rule.nms_iou, "slots": rule.slots, "class_agnostic": rule.class_agnostic}
    bounds |= {"weighted": rule.weighted or None}
    return {name: value for name, value in bounds.items() if value is not None}


def sure_pixels(reference: GraphReference, roles: Roles, gates: Mapping[str, float]) -> NDArray[np.bool_] | None:
    """Where PyTorch's best logit exceeds the second by more than two errors of a gate, bool [N, H, W].

    None for outputs of which none has the role of a label map.
    """
    logits: NDArray[Any] | None = reference.answer.logits
    if logits is None or OutputRole.LABEL_MAP not in map(roles.get, reference.outputs):
        return None
    if logits.shape[1] < 2:  # noqa: PLR2004 - one label has no second
        return np.ones((len(logits), *logits.shape[2:]), np.bool_)
    second, first = np.partition(logits, -2, axis=1)[:, -2:].swapaxes(0, 1)
    sure: NDArray[np.bool_] = first - second > 2 * gates["logits"] * value_range(logits)
    return sure
