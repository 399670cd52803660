"""COCO's run lengths of a mask, checked before pycocotools has them: it hangs on runs that do not fill their image."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

FIRST, LAST = ord("0"), ord("o")  # a character holds 6 bits: 5 of a number, and whether more of them follow
BITS, SIGN, MORE = 5, 0x10, 0x20
MOST_CHARACTERS = 6  # of one number: 29 bits and a sign, more than any image has pixels


def runs_fault(counts: object, pixels: int) -> str | None:
    """What is wrong with the "counts" of a mask of that many pixels, a list or compressed; None where they are good."""
    if isinstance(counts, list):
        if not all(kind is int or issubclass(kind, np.integer) for kind in set(map(type, counts))):
            return "expected run lengths that are integers, 0 or more"
        runs = counts
    elif isinstance(counts, str | bytes):
        unpacked = _unpacked(counts.encode("utf-8", "surrogatepass") if isinstance(counts, str) else counts)
        if unpacked is None:
            return f"counts {counts!r:.40} are not run lengths as COCO compresses them"
        runs = unpacked.tolist()
    else:
        return f"counts {counts!r:.40}, expected run lengths, as a list or compressed"
    if min(runs, default=0) < 0:
        return "expected run lengths that are integers, 0 or more"
    total = sum(runs)
    return None if total == pixels else f"the run lengths add up to {total}, expected {pixels} pixels"


def mask_of(code: Mapping[str, Any]) -> NDArray[np.bool_]:
    """A mask in COCO's compressed run lengths, {"size": [h, w], "counts": str or bytes}, that are good: bool [h, w].

    pycocotools' own decode warns under numpy 2.
    """
    counts = code["counts"]
    runs = _unpacked(counts.encode() if isinstance(counts, str) else counts)
    if runs is None:
        raise ValueError(runs_fault(counts, 0))
    height, width = code["size"]
    columns = np.repeat(np.arange(len(runs)) % 2 == 1, runs)  # the first run is of what is not there
    mask: NDArray[np.bool_] = columns.reshape(width, height).T
    return mask


def _unpacked(code: bytes) -> NDArray[np.int64] | None:
    """The numbers that a compressed code holds, None where it holds none.

    A number is written in groups of 5 bits, the lowest first, the last one with the sign; from the fourth on it is the
    difference to the number two before it, the last run of the same kind.
    """
    characters = np.frombuffer(code, np.uint8).astype(np.int64)
    ends = np.flatnonzero((characters - FIRST) & MORE == 0)
    starts = np.concatenate([[0], ends[:-1] + 1])
    if not len(ends) or ends[-1] != len(characters) - 1 or (ends - starts).max() >= MOST_CHARACTERS:
        return None
    if characters.min() < FIRST or characters.max() > LAST:
        return None
    groups = characters - FIRST
    places = np.arange(len(groups)) - np.repeat(starts, ends - starts + 1)
    numbers = np.add.reduceat((groups & (MORE - 1)) << BITS * places, starts)
    numbers -= np.where(groups[ends] & SIGN, 1 << BITS * (places[ends] + 1), 0)
    for kind in (numbers[1::2], numbers[2::2]):
        np.cumsum(kind, out=kind)
    return numbers
