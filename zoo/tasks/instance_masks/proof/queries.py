"""What a model whose queries have masks gives by itself, and what its instances are judged by."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from zoo.comparison.decision_rule import DecisionRule
from zoo.tasks.instance_masks.proof.pairs import Pairs, filled

CLASSES, MASKS = "class_logits", "mask_logits"
CLASS_DIMS, MASK_DIMS = 3, 4
MODEL_OUTPUT = f'a dictionary with "{CLASSES}" [N, Q, C + 1] and "{MASKS}" [N, Q, h, w]'


class Queries(NamedTuple):
    """PyTorch's own of one image: `probabilities` float32 [Q, C] of the classes, and `masks` [Q, h, w], logits."""

    probabilities: NDArray[np.float32]
    masks: NDArray[np.float32]

    def pairs(self, rule: DecisionRule, tolerance: float, near: float) -> Pairs:
        """Those that may be among the best, as many as the rule has slots, or as there are queries."""
        classes = self.probabilities.shape[1]
        flat = self.probabilities.reshape(-1)
        count = min(rule.slots or len(self.masks), len(flat))
        order = np.argsort(-flat, kind="stable")
        last = float(flat[order[count - 1]])
        following = float(flat[order[count]]) if len(order) > count else -np.inf
        pairs = order[flat[order] >= last - tolerance]
        places, labels = pairs // classes, pairs % classes
        best = np.arange(len(pairs)) < count
        needed = best & filled(self.masks, near)[places] & (flat[pairs] > following + tolerance)
        reason = (
            f"within {tolerance:g} of the K-th probability {last:.6f}, or all pixels of its mask are within {near:.3g} "
            "of 0"
        )
        return Pairs(places, labels, flat[pairs], needed, best & filled(self.masks, 0.0)[places], reason)

    def scores(self, pairs: Pairs, means: NDArray[np.float32]) -> NDArray[np.float32]:
        """Of instances as each pair, [n, P]. `means` [n, Q]: of the probabilities of a query in an instance's mask."""
        scores: NDArray[np.float32] = means[:, pairs.places] * pairs.scores
        return scores

    @property
    def is_finite(self) -> bool:
        """Whether it is."""
        return bool(np.isfinite(self.probabilities).all() and np.isfinite(self.masks).all())


def are_queries(output: object) -> bool:
    """Whether a model's output is MODEL_OUTPUT."""
    if not isinstance(output, Mapping):
        return False
    dims = [one.dim() if isinstance(one := output.get(name), Tensor) else 0 for name in (CLASSES, MASKS)]
    return dims == [CLASS_DIMS, MASK_DIMS]


def queries_of(output: Mapping[str, Any]) -> list[Queries]:
    """Those of each image of a batch."""
    probabilities = output[CLASSES].softmax(dim=-1)[..., :-1].cpu().numpy()
    return [Queries(*image) for image in zip(probabilities, output[MASKS].cpu().numpy(), strict=True)]
