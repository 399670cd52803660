"""A table as data, for the one template that writes tables."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Table:
    """``rows`` of words; the first cell of a row is its head. ``numbers``: the columns that are aligned to the right.

    ``caption`` says what the table is, for those who do not see where it stands.
    """

    caption: str
    heads: Sequence[str]
    rows: Sequence[Sequence[str]]
    numbers: frozenset[int] = frozenset()
    codes: frozenset[int] = frozenset()
    """Columns of hashes and code."""
    prose: frozenset[int] = frozenset()
    """Columns of sentences, which stay wide enough to be read on a phone."""
