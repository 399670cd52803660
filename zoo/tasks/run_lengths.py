"""Masks as COCO's compressed run lengths, as `pycocotools.mask.encode` gives them; with numpy alone."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

BITS = 5  # of a number in each character
MORE = 1 << BITS
FIRST = 48  # "0"
SAME_AGAIN = 2  # counts from the third on are written as the difference to the one two before


def run_lengths(mask: NDArray[np.bool_]) -> dict[str, Any]:
    """{"size": [h, w], "counts": text} of a mask bool [h, w]: runs of zeros and ones, column by column."""
    pixels = np.concatenate([[False], mask.ravel(order="F")])
    changes = np.flatnonzero(pixels[1:] != pixels[:-1])
    counts = np.diff(np.concatenate([[0], changes, [mask.size]]))
    differences = counts.copy()
    differences[SAME_AGAIN + 1 :] -= counts[1:-SAME_AGAIN]
    return {"size": list(mask.shape), "counts": "".join(map(_characters, differences.tolist()))}


def _characters(number: int) -> str:
    """A whole number, five bits a character, the lowest first; a character's sixth bit says that more follow."""
    text = ""
    while True:
        low, number = number & (MORE - 1), number >> BITS
        last = number == (-1 if low & (MORE >> 1) else 0)
        text += chr(FIRST + (low if last else low | MORE))
        if last:
            return text
