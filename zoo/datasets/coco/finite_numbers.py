"""What counts as a number in an annotation."""

import math
from collections.abc import Sequence

NUMBERS = {int, float}
LARGEST = 3e38  # items hold float32


def are_numbers(values: Sequence[object]) -> bool:
    """Whether all of these JSON values are finite numbers that fit float32; true and false are none.

    Over the 36 000 annotations of a big file this runs millions of times: no loop in Python.
    """
    if not set(map(type, values)) <= NUMBERS or not all(map(math.isfinite, values)):  # type: ignore[arg-type]  # numbers
        return False
    return max(map(abs, values), default=0) <= LARGEST  # type: ignore[arg-type]  # numbers
