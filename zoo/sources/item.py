"""One input of a source, or why there is none."""

from dataclasses import dataclass
from typing import Any

from zoo.sources.source import Source


@dataclass(frozen=True, eq=False)
class Item:
    """`value`: the input, as its kind reads it; None where there is a `fault`: one line that says what is wrong.

    Both are None for a file that is `unread`. `frame`: its number in a recording, from 0; None for a file,
    and for the fault of a whole recording.
    """

    source: Source
    frame: int | None = None
    value: Any = None
    fault: str | None = None

    @property
    def unread(self) -> bool:
        """Whether it is a file that has not been read yet."""
        return self.value is None and self.fault is None

    @property
    def label(self) -> str:
        """For messages."""
        return self.source.label if self.frame is None else f"{self.source.label}, frame {self.frame}"

    @property
    def name(self) -> str:
        """A file name for what is made of it: that of the source; of a frame in a folder of that name."""
        return self.source.name if self.frame is None else f"{self.source.name}/{self.frame:06}"
