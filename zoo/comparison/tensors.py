"""Level one of every comparison: how far two arrays are apart, number by number."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.comparison.findings import Figure, Findings

Array = NDArray[Any]


def figure(
    name: str, reference: Array, candidate: Array, *, unit: str = "", gate: float | None = None, scale: float = 1.0
) -> Figure:
    """Largest and mean absolute error times ``scale``, and the cosine, of two arrays of one shape (any dtype).

    Errors are None where either side has a value that is not finite.
    """
    a, b = reference.astype(np.float64).ravel(), candidate.astype(np.float64).ravel()
    if not (np.isfinite(a).all() and np.isfinite(b).all()):
        return Figure(name, unit, None, None, None, a.size, gate)
    error = np.abs(a - b) * scale
    norm = float(np.linalg.norm(a) * np.linalg.norm(b))
    return Figure(
        name=name,
        unit=unit,
        max_error=float(error.max(initial=0.0)),
        mean_error=float(error.mean()) if error.size else 0.0,
        cosine=float(a @ b) / norm if norm > 0 else None,
        count=a.size,
        gate=gate,
    )


def value_range(reference: Array) -> float:
    """Largest minus smallest value; 0 for an empty array."""
    return float(reference.max()) - float(reference.min()) if reference.size else 0.0


def compare_tensor(name: str, reference: Array, candidate: Array, gate: float) -> Findings:
    """Two float arrays of one name: the largest error must stay below ``gate`` times the reference's range.

    Another shape or dtype, a value that is not finite on either side, and an empty array are failures.
    """
    if problem := shape_problem(name, reference, candidate):
        return Findings.broken((problem,))
    if reference.size == 0:
        return Findings(blank=True)
    spread = value_range(reference) if np.isfinite(reference).all() else 0.0
    measured = figure(name, reference, candidate, unit="of range", gate=gate, scale=1.0 / spread if spread > 0 else 1.0)
    failures = () if measured.passed else (gate_failure(measured),)
    return Findings((measured,), matched=reference.size, failures=failures, blank=spread == 0 and not failures)


def shape_problem(name: str, reference: Array, candidate: Array) -> str | None:
    """Words for another shape or dtype, None where both are the same."""
    if reference.shape == candidate.shape and reference.dtype == candidate.dtype:
        return None
    return (
        f"{name}: the backend gives {candidate.dtype} {list(candidate.shape)}, "
        f"PyTorch {reference.dtype} {list(reference.shape)}"
    )


def gate_failure(measured: Figure) -> str:
    """Words for a missed gate."""
    if measured.max_error is None:
        return f"{measured.name}: NaN or infinity in the outputs"
    unit = f" {measured.unit}" if measured.unit else ""
    return f"{measured.name}: largest error {measured.max_error:.3g}{unit}, gate {measured.gate:.3g}{unit}"
