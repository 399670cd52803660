"""What a model that decides by itself which masks are instances gives, and what a backend's are judged by."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from zoo.comparison.decision_rule import DecisionRule
from zoo.tasks.instance_masks.proof.instances import Instances
from zoo.tasks.instance_masks.proof.pairs import Pairs
from zoo.tasks.instance_masks.proof.queries import MASK_DIMS, MASKS

SCORES, LABELS = "scores", "labels"
SLOT_DIMS = 2
FOUND_OUTPUT = f'a dictionary with "{SCORES}" and "{LABELS}" [N, K] and "{MASKS}" [N, K, h, w]'
"""Best first; past the last instance of an image scores are 0, labels -1, and masks below 0."""


class FoundMasks(NamedTuple):
    """PyTorch's own of one image: `found_scores` float32 [n], `labels` int64 [n], `masks` [n, h, w], above 0 inside."""

    found_scores: NDArray[np.float32]
    labels: NDArray[np.int64]
    masks: NDArray[np.float32]

    def pairs(self, rule: DecisionRule, tolerance: float, near: float) -> Pairs:
        """All of them. One near the score threshold, or near the last of a full image, may come or go."""
        count = len(self.labels)
        is_full = rule.slots is not None and count >= rule.slots
        last = float(self.found_scores.min()) if is_full else -np.inf
        least = max(last, -np.inf if rule.score is None else rule.score)
        places, own = np.arange(count), np.ones(count, np.bool_)
        reason = f"within {tolerance:g} of the smallest score that counts, {least:.6f}"
        needed, edges = self.found_scores > least + tolerance, (least - tolerance, least + tolerance)
        return Pairs(places, self.labels, self.found_scores, needed, own, reason, edges)

    def scores(self, pairs: Pairs, means: NDArray[np.float32]) -> NDArray[np.float32]:
        """Its own, [n, P], of any instances. `means` [n, ...]."""
        return np.broadcast_to(pairs.scores, (len(means), len(pairs.scores)))

    @property
    def is_finite(self) -> bool:
        """Whether it is."""
        return bool(np.isfinite(self.found_scores).all() and np.isfinite(self.masks).all())


def are_found(output: object) -> bool:
    """Whether a model's output is FOUND_OUTPUT."""
    if not isinstance(output, Mapping):
        return False
    dims = [one.dim() if isinstance(one := output.get(name), Tensor) else 0 for name in (SCORES, LABELS, MASKS)]
    return dims == [SLOT_DIMS, SLOT_DIMS, MASK_DIMS]


def found_instances(output: Mapping[str, Tensor]) -> Instances:
    """As instances of a whole batch."""
    labels = output[LABELS]
    return Instances((labels >= 0).sum(dim=1), output[SCORES], labels, output[MASKS] > 0)


def found_masks_of(output: Mapping[str, Any]) -> list[FoundMasks]:
    """Those of each image of a batch."""
    arrays = [output[name].cpu().numpy() for name in (SCORES, LABELS, MASKS)]
    counts = (arrays[1] >= 0).sum(axis=1)
    return [
        FoundMasks(*(array[:count] for array in image)) for count, *image in zip(counts.tolist(), *arrays, strict=True)
    ]
