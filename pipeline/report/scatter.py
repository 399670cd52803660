"""What PyTorch and the backend found, value against value: the points of the report's scatter plots."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

from pipeline.report.table import Table

LISTED = 100  # rows of a table that stands for a plot


class Point(NamedTuple):
    """One thing that both found: in which ``image``, what it is, and both sides' values."""

    image: str
    name: str
    reference: float
    candidate: float


@dataclass(frozen=True)
class Scatter:
    """``what`` a value is; ``words``: what the points are, and what has none."""

    what: str
    words: str
    points: tuple[Point, ...]
    title: str


@dataclass(frozen=True)
class GreyLevels:
    """How many values of all restored images are how far apart: ``counts`` by grey levels of 255."""

    counts: Mapping[int, int]
    title: str = "Pixel errors"

    @property
    def words(self) -> str:
        """In one line."""
        total, equal = sum(self.counts.values()), self.counts.get(0, 0)
        largest = max(self.counts, default=0)
        return (
            f"{equal} of {total} values (each pixel has three) are equal, the others up to {largest} grey levels apart"
        )


def scatter_table(found: Scatter | GreyLevels) -> Table:
    """The same as a table: the points that are furthest apart, or how many values are how far apart."""
    if isinstance(found, GreyLevels):
        rows = [(str(level), str(count)) for level, count in found.counts.items()]
        return Table("How far values are apart", ("grey levels of 255", "values"), rows, frozenset({0, 1}))
    points = sorted(found.points, key=lambda point: -abs(point.candidate - point.reference))[:LISTED]
    lines = [
        (p.image, p.name, f"{p.reference:g}", f"{p.candidate:g}", f"{p.candidate - p.reference:+.3g}") for p in points
    ]
    heads = ("image", "what", "PyTorch", "backend", "difference")
    caption = f"The {len(points)} largest differences" if len(points) < len(found.points) else "All differences"
    return Table(caption, heads, lines, frozenset({2, 3, 4}))
