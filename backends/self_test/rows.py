"""Rows of candidates, such as proposals, whose order rounding may change: the partner of each kept row."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backends.self_test.kept_part import Array, Arrays
from backends.self_test.stored import SelfTest


def partners(test: SelfTest, outputs: Arrays, scales: Mapping[str, float]) -> dict[str, Array]:
    """For each kept row the row of `outputs` at its own place, or, where that is not within all `scales`, the nearest.

    By name, [n, v] in the order of the kept rows. `scales`: the error of each output that counts as one.
    """
    pairs: dict[str, list[Array]] = {name: [] for name in scales}
    for image, places in enumerate(test.rows):
        flat = {name: outputs[name][image].reshape(outputs[name].shape[1], -1) for name in scales}
        kept = {name: test.outputs[name][test.rows_of(image)] for name in scales}
        for index, place in enumerate(places.tolist()):
            row = {name: values[index] for name, values in kept.items()}
            chosen = place
            if _apart(row, {name: values[place : place + 1] for name, values in flat.items()}, scales)[0] > 1.0:
                chosen = int(_apart(row, flat, scales).argmin())
            for name, values in flat.items():
                pairs[name].append(values[chosen])
    return {name: np.array(rows).reshape(test.outputs[name].shape) for name, rows in pairs.items()}


def row_errors(kept: Array, actual: Array) -> NDArray[np.float64]:
    """The largest error of each row, [n]."""
    errors: NDArray[np.float64] = np.abs(kept.astype(np.float64) - actual).max(axis=-1, initial=0.0)
    return errors


def _apart(row: Mapping[str, Array], others: Mapping[str, Any], scales: Mapping[str, float]) -> NDArray[np.float64]:
    """How many of its scales the row [v] is from each of the others [n, v], at the most; infinite for NaN."""
    errors: NDArray[np.float64] = np.max(
        [row_errors(row[name], others[name]) / scale for name, scale in scales.items()], axis=0
    )
    return np.where(np.isnan(errors), np.inf, errors)
