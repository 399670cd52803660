"""The scores of the classes of one image: how far they are apart, and whether the best are in the same order."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.comparison import Borderline, Findings, figure
from zoo.tasks.image_classification.result import TOP, ClassificationResult

Scores = NDArray[Any]
EXPLAINED = "PyTorch moves this score as far when its input is rounded otherwise"


def compare_scores(reference: Scores, candidate: Scores, gate: float, explained: float = 0.0) -> Findings:
    """The scores [C] of PyTorch and of a backend, by id.

    ``gate``: the largest difference of one score. ``explained``: one below it is borderline. Two of the best classes
    may have changed places only where PyTorch's scores of both are nearly equal: each may be off by what is allowed.
    Findings.matched counts the ranks that agree. Blank where PyTorch prefers no class.
    """
    if not (np.isfinite(reference).all() and np.isfinite(candidate).all()):
        return Findings.broken(("scores: NaN or infinity in the outputs",))
    error = np.abs(reference.astype(np.float64) - candidate)
    excused = (error > gate) & (error <= explained)
    borderline = [
        Borderline(f"class {label} is {error[label]:.3g} away", EXPLAINED) for label in np.flatnonzero(excused)
    ]
    wrong = np.flatnonzero((error > gate) & ~excused)
    failures = [
        f"class {label}: score {reference[label]:.4f} is {candidate[label]:.4f}, {error[label]:.3g} away, "
        f"gate {gate:.3g}"
        for label in wrong[:TOP]
    ]
    ours, theirs = (ClassificationResult.of(side).labels[:TOP] for side in (reference, candidate))
    allowed = 2 * max(gate, explained)
    for rank in np.flatnonzero(ours != theirs).tolist():
        margin = abs(float(reference[ours[rank]]) - float(reference[theirs[rank]]))
        what = f"rank {rank + 1}: PyTorch has class {ours[rank]}, the backend class {theirs[rank]}"
        if margin <= allowed:
            borderline.append(Borderline(what, f"PyTorch's scores of the two are {margin:.3g} apart"))
        else:
            failures.append(f"{what}; PyTorch's scores of the two are {margin:.3g} apart")
    return Findings(
        figures=(figure("scores", reference[~excused], candidate[~excused], gate=gate),),
        matched=int((ours == theirs).sum()),
        borderline=tuple(borderline),
        failures=tuple(failures),
        blank=not failures and float(np.ptp(reference)) <= gate,
    )
