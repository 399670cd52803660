"""Which entry of a data set a training sample is of."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray


def chosen(index: int, count: int, seed: int) -> int:
    """Of sample `index`: each pass over `count` entries takes them in another order; the same seed, the same order."""
    turn, place = divmod(index, count)
    return int(_order(count, seed, turn)[place])


@lru_cache(maxsize=2)
def _order(count: int, seed: int, turn: int) -> NDArray[np.int64]:
    return np.random.default_rng([seed, turn]).permutation(count)
