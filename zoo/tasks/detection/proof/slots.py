"""The outputs of a detector's graph: padded slots at level final, candidates before NMS at level decoded."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.comparison import Findings, shape_problem, value_range
from zoo.comparison.rows import RowGate
from zoo.geometry.box_form import BoxForm

Array = NDArray[Any]
Arrays = Mapping[str, Array]

PROPOSALS = "proposals"


def compare_slots(
    reference: Arrays, candidate: Arrays, compare_image: Callable[[int], Findings], near: float
) -> Findings:
    """The padded detections of a batch: empty slots first, then the sets of each image, then their order.

    `near`: scores that differ by less may come in any order.
    """
    problems = [shape_problem(name, reference[name], candidate[name]) for name in reference]
    failures = tuple(problem for problem in problems if problem)
    for side, who in ((reference, "PyTorch"), (candidate, "the backend")):
        failures += tuple(f"{who}, {problem}" for problem in slot_problems(side))
    if failures:
        return Findings.broken(failures)
    total = Findings(blank=True)
    for image in range(len(reference["num_dets"])):
        total += compare_image(image)
        if _rise(reference, image) <= near < (rise := _rise(candidate, image)):
            words = f"image {image}: a score is {rise:.3g} above the one before it, and PyTorch's best come first"
            total += Findings(failures=(words,))
    return total


def _rise(outputs: Arrays, image: int) -> float:
    """By how much a score of an image exceeds the one before it, at most."""
    scores = outputs["scores"][image, : int(outputs["num_dets"][image])].astype(np.float64)
    return float(np.diff(scores).max(initial=0.0))


def slot_problems(outputs: Arrays) -> list[str]:
    """What is wrong with the padding of `num_dets` [N], `boxes` [N, K, c], `scores` [N, K], `labels` [N, K] ..."""
    problems = []
    slots = outputs["scores"].shape[1]
    for index, count in enumerate(outputs["num_dets"].tolist()):
        if not 0 <= count <= slots:
            problems.append(f"image {index}: num_dets is {count}, expected 0 to {slots}")
            continue
        fillings = {name: -1 if name == "labels" else 0 for name in outputs if name != "num_dets"}
        if any(np.any(outputs[name][index, count:] != filling) for name, filling in fillings.items()):
            problems.append(f"image {index}: slots past num_dets = {count} hold values, expected zeros and label -1")
        if np.any(outputs["labels"][index, :count] < 0):
            problems.append(f"image {index}: a label below 0 among the first num_dets = {count} slots")
    return problems


def row_gate(name: str, reference: Array, gates: Mapping[str, float], form: BoxForm) -> RowGate:
    """The gate of one tensor whose rows are candidates. `form`: of boxes."""
    if name in ("boxes", PROPOSALS):
        gate, unit = next(iter(form.units.items()))
        return RowGate(gates[gate], unit, numbers=form.rows)
    if name == "scores":
        return RowGate(gates["scores"])
    spread = value_range(reference)
    return RowGate(gates["logits"], "of range", 1.0 / spread if np.isfinite(spread) and spread > 0 else 1.0)
