"""What PyTorch and the backend found, value against value: the data of the report's plots."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple


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
class Histogram:
    """How many values are how far apart: ``counts`` by whole ``unit``s; ``words``: the same in one line."""

    counts: Mapping[int, int]
    unit: str
    words: str
    title: str
