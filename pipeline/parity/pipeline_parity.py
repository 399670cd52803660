"""Comparison (b): an image into the deployment, and into PyTorch by a path that shares no code with it.

The reference resizes, pads, runs and maps back by itself. Three things are compared for each picture:
1. *input*: the reference's tensor with the deployment's. They may differ by rounding. Swapped colours, another resize
   rule or padding show here, on every image.
2. *same input*: the deployment's result with PyTorch's on the very tensor that the deployment made, mapped back by
   the reference. The gates are those of the graph comparison: nothing but the engine and the mapping lies between.
   So is the result where the deployment is given all images at once: "together".
3. *end to end*: the deployment's result with PyTorch's on the reference's own tensor. What the rounding of the input
   does is a matter of the model, so it is measured with PyTorch alone (see input_rounding.py), and explains as much
   here where 1 and 2 hold. A pixel is judged where PyTorch's margin is larger than that; the gate "pixels" says how
   many of those may change. Of the detections about as many may be further apart than the gates, or without partner,
   as the rounding moves in PyTorch (the gate "moved"), and are listed as borderline; more of them are failures. Of a
   restored image nothing is explained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from backends import Deployment
from pipeline.images.named_image import NamedImage
from pipeline.parity.decision_rule import DecisionRule
from pipeline.parity.detections import Excuse, compare_detections
from pipeline.parity.gates import Gates
from pipeline.parity.label_maps import compare_label_maps
from pipeline.parity.records import (
    END_TO_END,
    INPUT,
    MEAN_INPUT,
    SAME_INPUT,
    TOGETHER,
    WAY_BACK,
    Case,
    Figure,
    Findings,
)
from pipeline.parity.reference_input import ReferenceInput
from pipeline.parity.reference_result import EagerResult, ReferenceResult, nearest_pixels
from pipeline.parity.restored_images import compare_restored
from pipeline.parity.tensors import figure, gate_failure, shape_problem
from pipeline.parity.way_back import way_back_findings
from zoo.structures import DetectionResult, KeypointResult, Result, SegmentationResult, SuperResolutionResult

GREY_LEVELS = 255.0  # in the tensor's 0..1
EXPLAINED = "PyTorch moves as many when its input is rounded otherwise"
ALWAYS = 2  # detections that a rounding may move though none was seen to, but no more than half of them


def pipeline_cases(
    deployment: Deployment,
    images: Sequence[NamedImage],
    references: Sequence[ReferenceResult],
    gates: Gates,
    rule: DecisionRule,
) -> list[tuple[Case, Result | None]]:
    """Compare each image, by itself and as one of all that are given at once. Results as in ``pipeline_case``."""
    together: Sequence[Result | None] = [None] * len(images)
    if deployment.manifest.output_level == "final":
        together = deployment([image.pixels for image in images])
    return [
        pipeline_case(deployment, image, reference, gates, rule, result)
        for image, reference, result in zip(images, references, together, strict=True)
    ]


def pipeline_case(
    deployment: Deployment,
    image: NamedImage,
    reference: ReferenceResult,
    gates: Gates,
    rule: DecisionRule,
    together: Result | None = None,
) -> tuple[Case, Result | None]:
    """Compare one image; also the deployment's result, None where the output level has none.

    ``together``: its result where the deployment was given several images at once.
    """
    tensor, (geometry,) = deployment.preprocess([image.pixels])
    findings = compare_input(reference.own.tensor, tensor[0], gates["pipeline"])
    if not np.array_equal(reference.production.tensor, tensor[0]):
        failure = "images: the deployment's tensor is not the one that the config's preprocessing makes"
        findings += Findings.broken((failure,))
    if deployment.manifest.output_level != "final":
        return Case("pipeline", (image.name,), tensor.shape, replace(findings, blank=False)), None
    result = deployment(image.pixels)
    placed = reference.placed
    if type(reference.own.result) is DetectionResult:  # others have masks or points, which are made of nothing here
        back = way_back_findings(deployment.task, geometry, placed, gates["graph"]["boxes"])
        findings += _named(back, WAY_BACK)
    same = compare_results(reference.production, placed, result, gates["graph"], rule)
    whole = end_to_end(reference, result, gates["pipeline"], rule, explain=not (findings.failures or same.failures))
    findings += replace(_named(same, SAME_INPUT), matched=0)  # each is counted once
    findings += _named(whole, END_TO_END)
    if together is not None:
        joint = compare_results(reference.production, placed, together, gates["graph"], rule)
        findings += replace(_named(joint, TOGETHER), matched=0, figures=())
    return Case("pipeline", (image.name,), tensor.shape, findings), result


def end_to_end(
    reference: ReferenceResult, result: Result, gates: Mapping[str, float], rule: DecisionRule, *, explain: bool
) -> Findings:
    """``explain``: whether the rounding of the input may explain differences."""
    own, placed = reference.own, reference.placed
    if not explain or not reference.rounded:
        return compare_results(own, placed, result, gates, rule)
    moved = [compare_results(own, placed, other, gates, rule).differences for other in reference.rounded]
    count = len(own.result) if isinstance(own.result, DetectionResult) else 0
    most = max(1, min(ALWAYS, count // 2)) + int(gates["moved"] * max(moved))
    return compare_results(own, placed, result, gates, rule, Excuse(EXPLAINED, most), reference.explained)


def compare_input(
    reference: NDArray[np.float32], candidate: NDArray[np.float32], gates: Mapping[str, float]
) -> Findings:
    """The tensors [3, H, W] that the two preprocessings make of one image: largest and mean error in grey levels."""
    if problem := shape_problem("images", reference, candidate):
        return Findings.broken((problem,))
    found = figure(INPUT, reference, candidate, unit="grey levels", gate=gates["input_max"], scale=GREY_LEVELS)
    mean = Figure(MEAN_INPUT, "grey levels", found.mean_error, found.mean_error, None, 1, gates["input_mean"])
    failures = tuple(gate_failure(each) for each in (found, mean) if not each.passed)
    return Findings(
        (found, mean), failures=failures, faults=failures, blank=True
    )  # whether there is something to find, results show


def compare_results(
    expected: EagerResult,
    placed: ReferenceInput,
    result: Result,
    gates: Mapping[str, float],
    rule: DecisionRule,
    excuse: Excuse | None = None,
    explained: float = 0.0,
) -> Findings:
    """Results for one image, in its own coordinates. Box errors are counted in pixels of the graph's input.

    ``excuse``: see compare_detections; ``explained``: see compare_label_maps.
    """
    ours = expected.result
    if isinstance(ours, DetectionResult) and isinstance(result, DetectionResult) and type(ours) is type(result):
        return compare_detections(in_tensor(ours, placed), in_tensor(result, placed), gates, rule, excuse)
    if isinstance(ours, SegmentationResult) and isinstance(result, SegmentationResult) and expected.logits is not None:
        return _compare_maps(expected, expected.logits, placed, result.label_map, gates, explained)
    if isinstance(ours, SuperResolutionResult) and isinstance(result, SuperResolutionResult):
        return compare_restored(ours.image, result.image, gates["grey_levels"], gates["psnr"])
    return Findings.broken((f"the backend gives a {type(result).__name__}, PyTorch a {type(ours).__name__}",))


def _named(findings: Findings, what: str) -> Findings:
    return replace(
        findings,
        figures=tuple(replace(found, name=f"{found.name}, {what}") for found in findings.figures),
        failures=tuple(f"{what}: {failure}" for failure in findings.failures),
        faults=tuple(f"{what}: {fault}" for fault in findings.faults),
    )


def in_tensor(result: DetectionResult, placed: ReferenceInput) -> DetectionResult:
    """Boxes and keypoints of the image in pixels of the graph's input."""
    y, x = placed.tensor_per_image
    moved = replace(result, boxes=result.boxes * np.array((x, y, x, y), np.float32))
    if isinstance(moved, KeypointResult):
        return replace(moved, keypoints=moved.keypoints * np.array((x, y, 1), np.float32))
    return moved


def nearest_label_map(expected: EagerResult, placed: ReferenceInput, label_map: NDArray[Any]) -> NDArray[Any]:
    """PyTorch's label map [h, w] of a segmentation, held against the backend's ``label_map`` of the same shape.

    Where two pixels of the tensor are equally near to one of the image, either label is right: there it is the
    backend's where one of the two is.
    """
    assert isinstance(expected.result, SegmentationResult)
    assert expected.logits is not None
    ours = expected.result.label_map
    labels = expected.logits.argmax(axis=0).astype(ours.dtype)
    rows, columns = nearest_pixels(placed)
    for y in rows:
        for x in columns:
            either = labels[np.ix_(y, x)]
            ours = np.where(label_map == either, either, ours)
    return ours


def _compare_maps(
    reference: EagerResult,
    logits: NDArray[np.float32],
    placed: ReferenceInput,
    label_map: NDArray[Any],
    gates: Mapping[str, float],
    explained: float,
) -> Findings:
    assert isinstance(reference.result, SegmentationResult)
    if problem := shape_problem("label_map", reference.result.label_map, label_map):
        return Findings.broken((problem,))
    expected = nearest_label_map(reference, placed, label_map)
    return compare_label_maps(
        expected[None],
        label_map[None],
        logits[None],
        gate=gates.get("logits"),
        pixels=gates.get("pixels"),
        explained=explained,
        places=nearest_pixels(placed),
    )
