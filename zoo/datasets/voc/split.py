"""The lists of images of PASCAL VOC."""

from pathlib import Path
from typing import NamedTuple

from zoo.datasets.files.faults import Faults
from zoo.datasets.files.image_list import listed
from zoo.datasets.files.text_file import read_text


class SplitEntry(NamedTuple):
    """One image of a split: its name without folder and suffix, and the line of the list that names it."""

    name: str
    line: int


def read_split(path: Path, faults: Faults, only: str | Path | None = None) -> list[SplitEntry]:
    """The images that `path`, a file of ImageSets, lists: the first word of each line that is not empty.

    `only`: a text file with those of them that count.
    """
    text = read_text(path, faults)
    if text is None:
        return []
    entries: dict[str, SplitEntry] = {}
    for number, line in enumerate(text.splitlines(), 1):
        for name in line.split()[:1]:
            if name in entries:
                faults.add(path, f'image "{name}" is listed twice, first in line {entries[name].line}', number)
            entries.setdefault(name, SplitEntry(name, number))
    if not entries and not len(faults):
        faults.add(path, "no images, expected the name of one in each line")
    return [entries[name] for name in listed(entries, only, faults)]
