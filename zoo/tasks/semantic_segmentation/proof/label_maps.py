"""Two label maps: a pixel may change its label only where the logits of PyTorch were nearly equal.

Where the two sides resized the image by themselves (the pipeline comparison), the rounding of the input explains more
than that, and how much depends on the model. There a pixel is judged where PyTorch's margin exceeds what was measured
in that very model, and the part of all pixels that changed all the same has the gate.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.comparison import Borderline, Figure, Findings, gate_failure, shape_problem, value_range

Array = NDArray[Any]

Places = tuple[tuple[Array, ...], tuple[Array, ...]]
UNEXPLAINED = "relabelled beyond rounding"


def compare_label_maps(
    reference: Array,
    candidate: Array,
    logits: Array,
    *,
    gate: float | None = None,
    pixels: float | None = None,
    explained: float = 0.0,
    places: Places | None = None,
) -> Findings:
    """Label maps [N, h, w] of PyTorch and of a backend, and PyTorch's own ``logits`` float32 [N, C, H, W].

    ``places``: for each row, then each column of the maps, the index of its row or column in the logits, one array for
    each that is equally near; the candidate's label may be of any. None where maps and logits have one size.
    ``gate``: a relabelled pixel fails where its own label's logit exceeds that of the new label by more than twice
    ``gate`` times the range of the logits: each of the two logits may be wrong by one gate. This is at least as strict
    as the margin between the two best labels.
    ``pixels``: the comparison fails where more than this part of all pixels is relabelled at a margin above
    ``explained``, in units of the logits.
    Pixels that changed and pass are one borderline entry. Findings.matched counts the pixels that agree.
    """
    if problem := _unusable(reference, candidate, logits):
        return Findings.broken((problem,))
    spread = value_range(logits) or 1.0
    margins = _margins(reference, candidate, logits, places) / spread
    largest, mean = (float(margins.max()), float(margins.mean())) if margins.size else (0.0, 0.0)
    part = margins.size / reference.size if reference.size else 0.0
    margin_gate = None if gate is None else 2 * gate
    figures: tuple[Figure, ...] = (
        Figure("label margin", "of range", largest, mean, None, margins.size, margin_gate),
        Figure("relabelled", "of all", part, part, None, reference.size, None),
    )
    reason = f"largest margin {largest:.3g} of range"
    over = 0 if gate is None else int((margins > 2 * gate).sum())
    if pixels is not None:
        over = int((margins * spread > explained).sum())
        part = over / reference.size if reference.size else 0.0
        figures += (Figure(UNEXPLAINED, "of all", part, part, None, reference.size, pixels),)
        reason += f", rounding explains {explained / spread:.3g}"
    failures = tuple(
        f"{over} of {reference.size} pixels relabelled, {gate_failure(measured)}"
        for measured in figures
        if not measured.passed
    )
    near = margins.size if not failures else 0
    labels = np.unique(np.concatenate((reference.ravel(), candidate.ravel())))
    return Findings(
        figures=figures,
        matched=reference.size - margins.size,
        borderline=(Borderline(f"{near} pixels relabelled", reason),) if near else (),
        failures=failures,
        blank=not failures and labels.size <= 1,
    )


def _unusable(reference: Array, candidate: Array, logits: Array) -> str | None:
    if problem := shape_problem("label_map", reference, candidate):
        return problem
    if not np.isfinite(logits).all():
        return "NaN or infinity in the logits of PyTorch"
    classes = logits.shape[1]
    if candidate.size and not 0 <= int(candidate.min()) <= int(candidate.max()) < classes:
        unknown = int(candidate.max() if candidate.max() >= classes else candidate.min())
        return f"label_map: the backend gives label {unknown}, the model has 0 to {classes - 1}"
    return None


def _margins(reference: Array, candidate: Array, logits: Array, places: Places | None) -> Array:
    """For each relabelled pixel: the logit of PyTorch's label minus that of the new one, [n], float64, 0 or more.

    The least of all places that the label may be of.
    """
    image, y, x = np.nonzero(reference != candidate)
    new_labels = candidate[image, y, x]
    if places is None:
        places = ((np.arange(reference.shape[1]),), (np.arange(reference.shape[2]),))
    least = np.full(len(image), np.inf)
    for rows in places[0]:
        for columns in places[1]:
            at = logits[image, :, rows[y], columns[x]].astype(np.float64)
            margin = at.max(axis=1) - np.take_along_axis(at, new_labels[:, None].astype(np.intp), axis=1)[:, 0]
            least = np.minimum(least, margin)
    return least
