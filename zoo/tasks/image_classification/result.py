"""The classes of one image."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.optional_library import optional_library
from zoo.tasks.result import Classes, Result, frozen_array, plain

TOP = 5
"""How many of the best classes are shown, saved and put into tables."""


class Ranked(NamedTuple):
    """One class: its name, its probability, the model's own id."""

    name: str
    score: float
    label: int


@dataclass(frozen=True, eq=False, repr=False)
class ClassificationResult(Result):
    """All classes, the best first: `labels[0]` is the top-1 class, `labels[:5]` are the top-5. Arrays are read-only.

    `labels` int64 [C]: the model's own ids. `scores` float32 [C]: probabilities 0..1, in falling order. Raises
    InputError where the lengths differ. A loop over it gives each class by itself, as `Ranked`.
    """

    columns: ClassVar[Mapping[str, str]] = {"class": "string", "label": "int64", "score": "float32"}
    has_scores: ClassVar[bool] = True

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
        """The score of each class, float32 [C], by id; of a whole result, not of a part of one."""
        scores = np.empty_like(self.scores)
        scores[self.labels] = self.scores
        return scores

    def __len__(self) -> int:
        return len(self.scores)

    def __iter__(self) -> Iterator[Ranked]:
        for label, score in zip(self.labels.tolist(), self.scores.tolist(), strict=True):
            yield Ranked(self.class_name(label), score, label)

    def __getitem__(self, index: slice | NDArray[Any]) -> Self:
        """The result of some classes: a slice, a boolean mask [C] or indices, for example `result[:5]`."""
        return type(self)(self.labels[index], self.scores[index]).of_task(self.task, self.geometry)

    def filter(self, *, score: float | None = None, classes: Classes | None = None) -> Self:
        """The classes with that probability or a higher one, among `classes` (names, or the model's own ids)."""
        chosen = np.ones(len(self), np.bool_) if score is None else self.scores >= score
        if classes is not None:
            chosen &= np.isin(self.labels, self._ids(classes))
        return self[chosen]

    def to_dict(self) -> dict[str, Any]:
        """{"classes": [{class, score, label}, ...]}: the best TOP, best first."""
        return {"classes": self.rows()}

    def rows(self) -> list[dict[str, Any]]:
        """One for each of the best TOP classes, best first."""
        return self.best(self.class_name)

    def best(self, class_name: Callable[[int], str]) -> list[dict[str, Any]]:
        """[{class, score, label}, ...] of the best TOP classes; `class_name` gives the name of a label."""
        best = zip(self.labels[:TOP].tolist(), plain(self.scores[:TOP]), strict=True)
        return [{"class": class_name(label), "score": score, "label": label} for label, score in best]

    def to_supervision(self) -> Any:
        """`supervision.Classifications`."""
        library = optional_library("supervision", "supervision", "to_supervision()")
        return library.Classifications(class_id=self.labels.copy(), confidence=self.scores.copy())

    def summary(self) -> str:
        """The best TOP classes."""
        return ", ".join(f"{name} {score:.2f}" for name, score, _ in self[:TOP])
