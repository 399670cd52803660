"""What PyTorch has of one image, as pairs of a mask and a class that may be instances."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Flags = NDArray[np.bool_]


@dataclass(frozen=True)
class Pairs:
    """[P] each. `places`: of the masks. `scores`: by which the pairs are ranked.

    `needed`: those that are instances whatever rounding does; `own`: those that PyTorch has. `reason`: why one that is
    not needed may come or go. `edges`: scores between which an instance of the backend alone is excused by it as well.
    """

    places: NDArray[np.intp]
    labels: NDArray[np.intp]
    scores: NDArray[np.float32]
    needed: Flags
    own: Flags
    reason: str
    edges: tuple[float, float] | None = None

    def may_come(self, score: float) -> bool:
        """Whether an instance that PyTorch does not have may have this score."""
        return self.edges is not None and self.edges[0] <= score <= self.edges[1]


def filled(masks: NDArray[np.float32], least: float) -> Flags:
    """Whether masks [n, h, w] have a pixel above `least`."""
    return np.asarray((masks > least).any(axis=(1, 2)))
