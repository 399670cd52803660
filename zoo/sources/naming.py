"""Names for what is made of files: as short as they can be, and no two the same."""

import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path, PurePath


def output_names(files: Sequence[tuple[Path, PurePath]]) -> list[str]:
    """A name for each (absolute path, the short path that it should have): a relative path without suffix.

    Files whose short paths are the same keep the folders from the last one that they have in common, and their suffix
    where even that is not enough.
    """
    if not files:
        return []
    common = Path(os.path.commonpath([path.parent for path, _ in files]))
    longer = [
        (str(short.with_suffix("")), str(inside.with_suffix("")), str(inside))
        for (path, short) in files
        for inside in [path.relative_to(common)]
    ]
    levels = [0] * len(files)
    while True:
        names = [each[level] for each, level in zip(longer, levels, strict=True)]
        counts = Counter(names)
        if len(counts) == len(names):
            return names
        levels = [level + (counts[name] > 1 and level < 2) for name, level in zip(names, levels, strict=True)]  # noqa: PLR2004 - the longest
