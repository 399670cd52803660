"""Each task and output level has its own rule of comparison."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pipeline.parity.decision_rule import DecisionRule
from pipeline.parity.detections import compare_detections
from pipeline.parity.image_masks import ImageMasks
from pipeline.parity.label_maps import compare_label_maps
from pipeline.parity.plugin_candidates import final_detections
from pipeline.parity.records import Findings
from pipeline.parity.rows import RowGate, compare_rows
from pipeline.parity.tensors import compare_tensor, shape_problem, value_range
from zoo.structures import DetectionResult, InstanceSegmentationResult, KeypointResult
from zoo.tasks import TASKS, Detection

Array = NDArray[Any]
Arrays = Mapping[str, Array]

PROPOSALS = "proposals"
ULTRALYTICS = "output0"
IMAGE_MASKS = "image_masks"
SHAPES: Mapping[str, type[DetectionResult]] = {"masks": InstanceSegmentationResult, "keypoints": KeypointResult}


def compare_outputs(
    task: str,
    level: str,
    reference: Arrays,
    candidate: Arrays,
    gates: Mapping[str, float],
    rule: DecisionRule,
    logits: Array | None = None,
) -> Findings:
    """Outputs of one batch by name, of PyTorch and of a backend, both of the contract of task and level.

    ``logits`` float32 [N, C, H, W]: PyTorch's, needed to judge label maps. A tensor that one side lacks is a failure.
    """
    if level == "plugin":
        candidate = final_detections(candidate, rule)
    if ULTRALYTICS in reference and ULTRALYTICS in candidate:
        reference, candidate = (_split(side[ULTRALYTICS]) for side in (reference, candidate))
    missing, unknown = reference.keys() - candidate.keys(), candidate.keys() - reference.keys()
    if missing or unknown:
        names = ", ".join(sorted(missing | unknown))
        return Findings.broken((f"outputs {names}: only {'PyTorch' if missing else 'the backend'} has them",))
    detects = issubclass(TASKS[task], Detection)
    if detects and level in ("final", "plugin"):
        return _slots(reference, candidate, gates, rule)
    if detects and (level == "decoded" or PROPOSALS in reference):
        return compare_rows(reference, candidate, {name: _row_gate(name, reference[name], gates) for name in reference})
    if level == "final" and "label_map" in reference:
        if logits is None:
            raise ValueError("label maps cannot be judged without PyTorch's logits")
        return compare_label_maps(reference["label_map"], candidate["label_map"], logits, gate=gates["logits"])
    total = Findings(blank=True)
    for name in reference:
        total += compare_tensor(name, reference[name], candidate[name], gates["logits"])
    return total


def _split(output: Array) -> dict[str, Array]:
    """[N, 4 + C, M] -> rows of boxes [N, M, 4] (x, y, w, h) and scores [N, M, C]."""
    rows = output.transpose(0, 2, 1)
    return {"boxes": rows[..., :4], "scores": rows[..., 4:]}


def _row_gate(name: str, reference: Array, gates: Mapping[str, float]) -> RowGate:
    if name in ("boxes", PROPOSALS):
        return RowGate(gates["boxes"], "px")
    if name == "scores":
        return RowGate(gates["scores"])
    spread = value_range(reference)
    return RowGate(gates["logits"], "of range", 1.0 / spread if np.isfinite(spread) and spread > 0 else 1.0)


def _slots(reference: Arrays, candidate: Arrays, gates: Mapping[str, float], rule: DecisionRule) -> Findings:
    """The padded detections of a batch: empty slots first, then the sets of each image."""
    problems = [shape_problem(name, reference[name], candidate[name]) for name in reference]
    failures = tuple(problem for problem in problems if problem)
    for side, who in ((reference, "PyTorch"), (candidate, "the backend")):
        failures += tuple(f"{who}, {problem}" for problem in slot_problems(side))
    if failures:
        return Findings.broken(failures)
    total = Findings(blank=True)
    for index in range(len(reference["num_dets"])):
        pasted = [side[IMAGE_MASKS][index] for side in (reference, candidate) if IMAGE_MASKS in side]
        total += compare_detections(
            _detections(reference, index),
            _detections(candidate, index),
            gates,
            rule,
            image_masks=ImageMasks(*pasted) if pasted else None,
        )
    return total


def slot_problems(outputs: Arrays) -> list[str]:
    """What is wrong with the padding of `num_dets` [N], `boxes` [N, K, 4], `scores` [N, K], `labels` [N, K] ..."""
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


def _detections(outputs: Arrays, index: int) -> DetectionResult:
    count = int(outputs["num_dets"][index])
    kind = next((kind for name, kind in SHAPES.items() if name in outputs), DetectionResult)
    fields = outputs.keys() - {"num_dets", IMAGE_MASKS}
    return kind(**{name: outputs[name][index, :count] for name in fields})
