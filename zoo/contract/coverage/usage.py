"""The counters, and how a method of a model is listened to."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor, nn


class Usage:
    """How often each part of a model decided something: `counts[what, part]`; 0 for a part that nothing has used.

    `unsought`: the parts for which no images are made.
    """

    def __init__(self) -> None:
        self.counts: dict[tuple[str, str], int] = {}
        self.unsought: set[tuple[str, str]] = set()

    def add(self, what: str, part: str, count: int | Tensor, *, sought: bool = True) -> None:
        """Count so many more. `sought`: whether a deploy makes images of its own where nothing uses the part."""
        self.counts[what, part] = self.counts.get((what, part), 0) + int(count)
        if not sought:
            self.unsought.add((what, part))

    @property
    def unused(self) -> tuple[tuple[str, str], ...]:
        """What and part of each counter at 0."""
        return tuple(key for key, count in self.counts.items() if count == 0)


@contextmanager
def listened(owner: nn.Module, method: str, note: Callable[..., None]) -> Iterator[None]:
    """Call `note(result, *arguments)` after each call of a method of one module; the method itself stays what it is."""
    original: Callable[..., Any] = getattr(owner, method)

    def call(*arguments: Any, **options: Any) -> Any:
        result = original(*arguments, **options)
        note(result, *arguments)
        return result

    owner.__dict__[method] = call
    try:
        yield
    finally:
        del owner.__dict__[method]
