"""KITTI's label files: one object a line."""

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

NUMBERS = 14  # behind the type
DONT_CARE = "DontCare"
UNKNOWN, UNKNOWN_ANGLE, UNKNOWN_PLACE = -1, -10, -1000
"""What a file has for values that nobody measured, without decimals: as writeLabels.m of KITTI's development kit."""


class KittiObject(NamedTuple):
    """A line of a label file, or with a `score` of a result file.

    `truncation`: 0 to 1, the part outside of the image. `occlusion`: 0 fully visible, 1 partly, 2 largely, 3 unknown.
    `alpha`: observation angle in [-pi, pi]. `box`: x1 y1 x2 y2 in pixels. `size`: height, width, length in metres.
    `place`: x y z of the middle of its bottom, in the rectified camera's frame. `turn`: about the camera's y axis.
    """

    type: str
    truncation: float
    occlusion: int
    alpha: float
    box: tuple[float, float, float, float]
    size: tuple[float, float, float]
    place: tuple[float, float, float]
    turn: float
    score: float | None = None


def read_label(text: str) -> Iterator[tuple[int, KittiObject | str]]:
    """For each line its number from 1, and the object, or in words what is wrong with it."""
    for number, line in enumerate(text.splitlines(), 1):
        if words := line.split():
            yield number, _object(words)


def label_text(objects: Iterable[KittiObject]) -> str:
    """The lines of a label file, numbers with two decimals, scores with six. Blanks in a type become underscores.

    A truncation, size, place or angle that is unknown has no decimals.
    """
    return "".join(map(_line, objects))


def _object(words: list[str]) -> KittiObject | str:
    if len(words) not in (NUMBERS + 1, NUMBERS + 2):
        return f"got {len(words)} words, expected a type, {NUMBERS} numbers, and of a result its score"
    try:
        truncation, occlusion, alpha, *rest = (float(word) for word in words[1:])
    except ValueError:
        return f"got {' '.join(words[1:])!r}, expected {NUMBERS} numbers, and of a result its score"
    if not all(map(math.isfinite, (truncation, occlusion, alpha, *rest))):
        return "got a number that is not finite"
    if words[0] != DONT_CARE and min(rest[4:7]) <= 0:
        return f"got height, width and length {rest[4]:g} {rest[5]:g} {rest[6]:g}, expected more than 0"
    return KittiObject(
        words[0],
        truncation,
        int(occlusion),
        alpha,
        (rest[0], rest[1], rest[2], rest[3]),
        (rest[4], rest[5], rest[6]),
        (rest[7], rest[8], rest[9]),
        rest[10],
        rest[11] if len(rest) > NUMBERS - 3 else None,
    )


def _line(entry: KittiObject) -> str:
    words = (
        "_".join(entry.type.split()),
        _word(entry.truncation, UNKNOWN),
        str(entry.occlusion),
        _word(entry.alpha, UNKNOWN_ANGLE),
        *(f"{value:.2f}" for value in entry.box),
        *(_word(value, UNKNOWN) for value in entry.size),
        *(_word(value, UNKNOWN_PLACE) for value in entry.place),
        _word(entry.turn, UNKNOWN_ANGLE),
        *([] if entry.score is None else [f"{entry.score:.6f}"]),
    )
    return f"{' '.join(words)}\n"


def _word(value: float, unknown: int) -> str:
    return str(unknown) if value == unknown else f"{value:.2f}"
