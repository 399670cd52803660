"""Tensors whose rows are candidates for an object (proposals, anchors): compared row by row, in any order.

Two proposals with nearly equal objectness swap places between PyTorch and an engine, with all that belongs to them.
Rows that agree at their own index are matched first; those that are left are paired with each other.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment

from zoo.comparison.findings import Findings
from zoo.comparison.tensors import figure, gate_failure, shape_problem

Array = NDArray[Any]


MAX_PAIRED = 1000  # with more rows astray there is no order to find, only a wrong model


@dataclass(frozen=True)
class RowGate:
    """The largest error allowed in one tensor, in ``unit`` after multiplication with ``scale``.

    ``numbers``: makes of the tensor [N, P, ...] what is compared, [N, P, ...]; None: the tensor itself.
    """

    gate: float
    unit: str = ""
    scale: float = 1.0
    numbers: Callable[[Array], Array] | None = None


def compare_rows(
    reference: Mapping[str, Array], candidate: Mapping[str, Array], gates: Mapping[str, RowGate]
) -> Findings:
    """Tensors [N, P, ...] by name; a row is [n, p] of all of them. Every row must find a partner within the gates.

    Findings.matched counts rows with a partner; those that are zero in all tensors (unused slots) are not counted.
    """
    problems = [shape_problem(name, reference[name], candidate[name]) for name in gates]
    if any(problems):
        return Findings.broken(tuple(problem for problem in problems if problem))
    ours, theirs = (
        {name: _flat(side[name], bound.numbers) for name, bound in gates.items()} for side in (reference, candidate)
    )
    for name in gates:
        if not (np.isfinite(ours[name]).all() and np.isfinite(theirs[name]).all()):
            return Findings.broken((f"{name}: NaN or infinity in the outputs",))
    order = np.stack([_order(image, ours, theirs, gates) for image in range(len(next(iter(ours.values()))))])
    used = np.any([np.any(ours[name] != 0, axis=2) for name in gates], axis=0)
    figures, good = [], np.ones(used.shape, bool)
    for name, bound in gates.items():
        paired = np.take_along_axis(theirs[name], order[..., None], axis=1)
        figures.append(figure(name, ours[name], paired, unit=bound.unit, gate=bound.gate, scale=bound.scale))
        good &= np.abs(ours[name] - paired).max(axis=2, initial=0.0) * bound.scale <= bound.gate
    failures = [gate_failure(measured) for measured in figures if not measured.passed]
    if failures:
        failures.append(f"{int((~good).sum())} of {good.size} rows have no partner within the gates")
    return Findings(tuple(figures), matched=int((good & used).sum()), failures=tuple(failures), blank=not used.any())


def _flat(tensor: Array, numbers: Callable[[Array], Array] | None) -> NDArray[np.float64]:
    """[N, P, ...] -> [N, P, values]."""
    tensor = tensor if numbers is None else numbers(tensor)
    return tensor.reshape(*tensor.shape[:2], -1).astype(np.float64)


def _order(
    image: int, ours: Mapping[str, Array], theirs: Mapping[str, Array], gates: Mapping[str, RowGate]
) -> NDArray[np.intp]:
    """For each row of ours the index of its partner."""
    error = np.max(
        [
            np.abs(ours[n][image] - theirs[n][image]).max(axis=1, initial=0.0) * g.scale / g.gate
            for n, g in gates.items()
        ],
        axis=0,
    )
    order = np.arange(error.size)
    left = np.flatnonzero(error > 1.0)
    if 0 < left.size <= MAX_PAIRED:
        cost = np.zeros((left.size, left.size))
        for name, gate in gates.items():
            rest = theirs[name][image][left]
            for place, row in enumerate(ours[name][image][left]):  # all at once would be gigabytes for many classes
                errors = np.abs(row - rest).max(axis=1, initial=0.0) * (gate.scale / gate.gate)
                cost[place] = np.maximum(cost[place], errors)
        rows, columns = linear_sum_assignment(np.minimum(cost, 1e6))
        order[left[rows]] = left[columns]
    return order
