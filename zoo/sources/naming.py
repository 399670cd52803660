"""Names for what is made of files: as short as they can be, and no two the same."""

import os
import unicodedata
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePath

NAMELESS = "input"


def output_names(files: Sequence[tuple[Path, PurePath]]) -> list[str]:
    """A name for each (absolute path, the short path that it should have): a relative path without suffix.

    Files whose short paths are the same keep the folders from the last one that they have in common, and their suffix
    where even that is not enough; then they are counted. Names that differ in case alone are the same: some disks have
    one file for both.
    """
    if not files:
        return []
    common = Path(os.path.commonpath([path.parent for path, _ in files]))
    longer = [
        (_without_suffix(short), _without_suffix(inside), str(inside))
        for (path, short) in files
        for inside in [path.relative_to(common)]
    ]
    levels = [0] * len(files)
    longest = len(longer[0]) - 1
    for _ in range(longest + 1):
        names = [each[level] for each, level in zip(longer, levels, strict=True)]
        counts = Counter(map(as_one_file, names))
        if len(counts) == len(names):
            return names
        levels = [
            min(longest, level + (counts[as_one_file(name)] > 1)) for name, level in zip(names, levels, strict=True)
        ]
    return _counted(names)


def _without_suffix(path: PurePath) -> str:
    """Of "." and "/", which have no name, the name of what cannot be read."""
    return str(path.with_suffix("")) if path.name else NAMELESS


def as_one_file(name: str) -> str:
    """The same for names that some disks take for one."""
    return unicodedata.normalize("NFC", name).casefold()


def _counted(names: Sequence[str]) -> list[str]:
    """With a number behind each that was there before."""
    taken = set(map(as_one_file, names))
    seen: set[str] = set()
    result = []
    for name in names:
        own, number = name, 1
        while as_one_file(own) in seen or (number > 1 and as_one_file(own) in taken):
            number += 1
            own = f"{name}-{number}"
        seen.add(as_one_file(own))
        result.append(own)
    return result
