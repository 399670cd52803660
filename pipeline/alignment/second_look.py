"""Few rows of a set without a partner: a near tie that fell the other way, or a fault that touches few rows.

Both sides chose from tensors that differ by rounding, and near a threshold or between equals that decides. So the graph
is run again from PyTorch's own tensors right before the set, and then a few times from those with noise of a tenth of
the threshold. A row on an edge falls on either side of it in one of these runs. A row that PyTorch has and none of
them, or one that each of them has and PyTorch has not, is no matter of rounding.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.alignment.layouts import layout
from pipeline.alignment.row_sets import row_set

Array = NDArray[Any]
RUNS = 6  # with noise
NOISE = 0.1  # of the threshold, and that of a tensor's largest value
STRICT = 1e-3  # a threshold above it is of a lower precision, whose rounding moves rows far
Run = Callable[[Mapping[str, Array]], Array]


def rows_at_fault(expected: Array, run: Run, sources: Mapping[str, Array], threshold: float) -> int:
    """How many rows of ``expected`` [n, ...] no rounding explains.

    ``run``: the graph's tensor of these ``sources``, which are PyTorch's tensors by the names of the graph's.
    """
    missing, extra = np.ones(len(expected), bool), None
    for fed in _noisy(sources, NOISE * threshold):
        fit = layout(expected, run(fed))
        if fit is None:
            return int(missing.sum())
        rows = row_set(expected, fit.array, threshold)
        missing &= ~rows.same
        extra = rows.extra if extra is None else min(extra, rows.extra)
        if not missing.any() and not extra:
            return 0
    return int(missing.sum()) + (extra or 0)


def _noisy(sources: Mapping[str, Array], part: float) -> Iterator[dict[str, Array]]:
    yield dict(sources)
    generator = np.random.default_rng(0)
    for _ in range(RUNS):
        yield {name: _with_noise(array, part, generator) for name, array in sources.items()}


def _with_noise(array: Array, part: float, generator: np.random.Generator) -> Array:
    if array.dtype.kind != "f":
        return array
    largest = np.abs(array[np.isfinite(array)]).max(initial=0.0)
    noise = generator.uniform(-part, part, array.shape) * largest
    return (array + np.where(array == 0, 0.0, noise)).astype(array.dtype)  # empty slots stay empty
