"""Which decisions of the model the trials put to the test: a file that is right says nothing of the others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from pipeline.doctor.causes import Cause
from pipeline.doctor.example import Trial
from pipeline.doctor.source_location import SourceLocation
from pipeline.doctor.tracer_warnings import TracerWarnings

BY_LIMIT = ("frozen-branch", "frozen-loop", "size-limit")
"""Causes where another size need not decide otherwise."""


@dataclass(frozen=True)
class Coverage:
    """`by_numbers`: where a tensor's numbers became Python values; `varied`: where trials decided otherwise than the
    example; `sizes_vary`, `sizes_tried`: whether they may, and whether a trial had others.
    """

    by_numbers: frozenset[SourceLocation]
    varied: frozenset[SourceLocation]
    sizes_vary: bool
    sizes_tried: bool

    def decided(self, place: SourceLocation, cause: Cause) -> bool:
        """Whether the trials would have shown that the file freezes what this line decides."""
        if place in self.varied or place.code.startswith("assert "):
            return True
        if place in self.by_numbers:
            return False
        if not self.sizes_vary:  # what is left are sizes, and a tensor's own kind
            return True
        return self.sizes_tried and cause.name not in BY_LIMIT


def exercised(
    runs: Sequence[tuple[Trial, TracerWarnings]],
    parted: Iterable[SourceLocation],
    axes: Mapping[str, Mapping[int, str]],
) -> Coverage:
    """From the trials that the model takes, the example first, and the statements that went another way."""
    first = runs[0][1]
    others = [watched for _, watched in runs[1:]]
    places = frozenset(place for _, watched in runs for place in watched.values)
    varied = {place for place in places for one in others if one.values.get(place) != first.values.get(place)}
    return Coverage(
        by_numbers=places,
        varied=frozenset({*varied, *parted}),
        sizes_vary=any(axes.values()) or any(watched.sized_by_numbers for _, watched in runs),
        sizes_tried=any(trial.by not in ("", "numbers") for trial, _ in runs),
    )
