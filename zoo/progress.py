"""How far a long piece of work is: one signature for those who report it and those who show it."""

from typing import Protocol


class Progress(Protocol):
    """Called with 0 first, and then as pieces of the work are done."""

    def __call__(self, what: str, done: int, total: int, /) -> None:
        """`done` of `total` pieces of the work `what`."""
