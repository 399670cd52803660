"""One file, or one recording."""

import os
from collections.abc import Iterable
from dataclasses import dataclass

from zoo.input_kinds.recording import Recording

SourceNames = str | os.PathLike[str] | int | Iterable[str | os.PathLike[str] | int]
"""What names sources: a file, a folder, a glob, a video, a camera's number, a URL, "-"; or several of them."""


@dataclass(frozen=True)
class Source:
    """`label`: as it was named, for messages and tables. `name`: of what is made of it, a relative path without suffix.

    Of all sources that were found together, no two have the same name.
    """

    label: str
    name: str
    recording: Recording | None = None
    """What holds several inputs; None for the file `label`."""

    @property
    def live(self) -> bool:
        """Whether it has no end of its own."""
        return self.recording is not None and self.recording.live
