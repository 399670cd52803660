"""DOTA's text format: one object a line, its four corners, its class, and whether it is difficult.

    x1 y1 x2 y2 x3 y3 x4 y4 category difficult

Source: DOTA (Xia et al., A Large-scale Dataset for Object Detection in Aerial Images, CVPR 2018), its labelTxt files.
They may begin with lines of metadata, "imagesource:..." and "gsd:...".
"""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

NUMBERS = 8
METADATA = ("imagesource:", "gsd:")
DECIMALS = 2


class DotaObject(NamedTuple):
    """`corners`: x1 y1 ... x4 y4 in pixels of the image, in turn around the box."""

    corners: tuple[float, ...]
    category: str
    difficult: bool = False


def dota_text(objects: Iterable[DotaObject]) -> str:
    """The lines of a label file, coordinates with two decimals. Blanks in the name of a class become hyphens."""
    return "".join(
        f"{' '.join(f'{value:.{DECIMALS}f}' for value in entry.corners)} {'-'.join(entry.category.split())} "
        f"{int(entry.difficult)}\n"
        for entry in objects
    )


def read_dota(text: str) -> Iterator[tuple[int, DotaObject | str]]:
    """For each line with an object its number from 1, and the object, or in words what is wrong with it."""
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if words and not line.lower().startswith(METADATA):
            yield number, _object(words)


def _object(words: list[str]) -> DotaObject | str:
    if not NUMBERS < len(words) <= NUMBERS + 2:
        return f"got {len(words)} words, expected x1 y1 x2 y2 x3 y3 x4 y4 category and 0, 1 or 2 for difficult"
    try:
        corners = tuple(float(word) for word in words[:NUMBERS])
    except ValueError:
        return f"got {' '.join(words[:NUMBERS])!r}, expected eight numbers, x1 y1 x2 y2 x3 y3 x4 y4"
    if not all(map(math.isfinite, corners)):
        return f"got {' '.join(words[:NUMBERS])!r}, expected finite coordinates"
    difficult = words[NUMBERS + 1] if len(words) > NUMBERS + 1 else "0"
    if difficult not in ("0", "1", "2"):
        return f"got {difficult!r} for difficult, expected 0, 1 or 2"
    return DotaObject(corners, words[NUMBERS], difficult != "0")
