"""The classes of one image."""

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.tasks.result import Result, frozen_array


@dataclass(frozen=True, eq=False)
class ClassificationResult(Result):
    """All classes, the best first: `labels[0]` is the top-1 class, `labels[:5]` are the top-5. Arrays are read-only.

    `labels` int64 [C]: the model's own ids. `scores` float32 [C]: probabilities 0..1, in falling order. Raises
    InputError where the lengths differ.
    """

    labels: NDArray[np.int64]
    scores: NDArray[np.float32]

    def __post_init__(self) -> None:
        object.__setattr__(self, "labels", frozen_array(self.labels, np.int64))
        object.__setattr__(self, "scores", frozen_array(self.scores, np.float32))
        if self.labels.ndim != 1 or self.labels.shape != self.scores.shape:
            raise InputError(
                f"classification: got labels {list(self.labels.shape)}, scores {list(self.scores.shape)}; expected "
                "[C], [C]"
            )

    @classmethod
    def of(cls, scores: NDArray[Any]) -> Self:
        """From the score of each class, float [C], by id. Of equal scores the lower id comes first."""
        labels = np.argsort(-scores, kind="stable")
        return cls(labels, scores[labels])

    def by_id(self) -> NDArray[np.float32]:
        """The score of each class, float32 [C], by id."""
        scores = np.empty_like(self.scores)
        scores[self.labels] = self.scores
        return scores
