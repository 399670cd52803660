"""A text file that says which images of a data set count, one in each line."""

from collections.abc import Iterable, Sequence
from functools import partial
from pathlib import Path

from zoo.datasets.files.faults import Faults
from zoo.datasets.files.text_file import read_text
from zoo.errors import nearest


def listed(names: Iterable[str], only: str | Path | None, faults: Faults) -> list[str]:
    """Those of the names that the file `only` lists, in their own order; all of them without a file.

    A line that is none of the names is a fault, and so are a list without a line, and one that cannot be read.
    """
    known = list(names)
    if only is None:
        return known
    path = Path(only)
    text = read_text(path, faults)
    if text is None:
        return []
    wanted = {line.strip(): number for number, line in enumerate(text.splitlines(), 1) if line.strip()}
    there = set(known)
    for name, line in wanted.items():
        if name not in there:
            faults.add(path, partial(_no_image, name, known), line)
    if not wanted:
        faults.add(path, "no images, expected the name of one in each line")
    return [name for name in known if name in wanted]


def _no_image(name: str, known: Sequence[str]) -> str:
    return f'no image "{name}"; {nearest(name, known)}'
