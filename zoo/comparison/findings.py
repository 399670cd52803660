"""What a comparison found, as typed and immutable records."""

import dataclasses
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Figure:
    """How far two arrays are apart. ``gate`` None: recorded, not judged.

    ``max_error`` and ``mean_error`` are in ``unit`` ("px", "of range", "" for scores ...); None where a value is not
    finite. ``cosine`` is None where it means nothing (label maps, zero vectors). ``count`` values were compared.
    """

    name: str
    unit: str
    max_error: float | None
    mean_error: float | None
    cosine: float | None
    count: int
    gate: float | None

    @property
    def passed(self) -> bool:
        """Whether the largest error keeps the gate. What is not finite never does."""
        if self.max_error is None:
            return False
        return self.gate is None or self.max_error <= self.gate


@dataclass(frozen=True)
class Borderline:
    """Something that differs and may, because it lies on a threshold: what, and the reason."""

    what: str
    reason: str


@dataclass(frozen=True)
class Findings:
    """The outcome of one comparison of two results. ``matched`` counts detections, rows or pixels that agree.

    ``faults``: those of the failures that no precision excuses, such as another shape. ``differences``: how many of the
    detections, their masks and keypoints are no borderline; the failures list the first of them.
    """

    figures: tuple[Figure, ...] = ()
    matched: int = 0
    borderline: tuple[Borderline, ...] = ()
    failures: tuple[str, ...] = ()
    blank: bool = False  # nothing in it that could differ: no detections, or one label everywhere
    faults: tuple[str, ...] = ()
    differences: int = 0

    @classmethod
    def broken(cls, faults: tuple[str, ...]) -> "Findings":
        """Two results that cannot be compared at all."""
        return cls(failures=faults, faults=faults)

    def __add__(self, other: "Findings") -> "Findings":
        """Both; blank only where both are."""
        return Findings(
            figures=merge_figures((*self.figures, *other.figures)),
            matched=self.matched + other.matched,
            borderline=self.borderline + other.borderline,
            failures=self.failures + other.failures,
            blank=self.blank and other.blank,
            faults=self.faults + other.faults,
            differences=self.differences + other.differences,
        )


def merge_figures(figures: Iterable[Figure]) -> tuple[Figure, ...]:
    """Figures of one name as one: the largest error, the mean over all values, the lowest cosine; names in order."""
    merged: dict[str, Figure] = {}
    for figure in figures:
        known = merged.get(figure.name)
        merged[figure.name] = figure if known is None else _merge(known, figure)
    return tuple(merged.values())


def _merge(first: Figure, second: Figure) -> Figure:
    count = first.count + second.count
    cosines = [figure.cosine for figure in (first, second) if figure.cosine is not None]
    if first.max_error is None or second.max_error is None or first.mean_error is None or second.mean_error is None:
        largest = mean = None
    else:
        largest = max(first.max_error, second.max_error)
        weighted = first.mean_error * first.count + second.mean_error * second.count
        mean = weighted / count if count else 0.0
    return dataclasses.replace(
        first, max_error=largest, mean_error=mean, cosine=min(cosines) if cosines else None, count=count
    )
