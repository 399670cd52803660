"""What holds several inputs, one after another: a video, a camera, a stream."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator
from typing import Any


class Recording(ABC):
    """Nothing is opened before `frames` is looped over.

    `label`: for messages and tables. `name`: a file name for what is made of it. `live`: it has no end of its own, and
    cannot be read twice.
    """

    label: str
    name: str
    live: bool

    @property
    def count(self) -> int | None:
        """How many inputs it has, as far as it says so."""
        return None

    @property
    def rate(self) -> float | None:
        """Inputs a second, once its `frames` are looped over; None where it does not say."""
        return None

    @abstractmethod
    def frames(self, skip: Collection[int] = ()) -> Iterator[tuple[int, Any]]:
        """(number from 0, input), but for those numbers to `skip`.

        Raises InputError where it cannot be opened, has nothing in it, or ends too early.
        """
