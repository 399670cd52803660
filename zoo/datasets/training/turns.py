"""Which entry of a data set a training sample is of."""

import numpy as np


def chosen(index: int, count: int, seed: int) -> int:
    """Of sample `index`: each pass over `count` entries takes them in another order; the same seed, the same order."""
    turn, place = divmod(index, count)
    return int(np.random.default_rng([seed, turn]).permutation(count)[place])
