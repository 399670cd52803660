"""Comparison (b): an image into the deployment, and into PyTorch by a path that shares no code with it.

The reference resizes, pads, runs and maps back by itself. Three things are compared for each image:
1. *input*: the reference's tensor with the deployment's. They may differ by rounding. Swapped colours, another resize
   rule or padding show here, on every image.
2. *same input*: the deployment's result with PyTorch's on the very tensor that the deployment made, mapped back by
   the reference. The gates are those of the graph comparison: nothing but the engine and the mapping lies between.
   So is the result where the deployment is given all images at once: "together".
3. *end to end*: the deployment's result with PyTorch's on the reference's own tensor. What the rounding of the input
   does is a matter of the model, so it is measured with PyTorch alone (see zoo.input_kinds.image.input_rounding), and
   explains as much here where 1 and 2 hold. A pixel is judged where PyTorch's margin is larger than that; the gate
   "pixels" says how many of those may change. Of the detections about as many may be further apart than the gates, or
   without partner, as the rounding moves in PyTorch (the gate "moved"), and are listed as borderline; more of them are
   failures. Of a restored image nothing is explained.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from backends import Deployment
from pipeline.inputs.named_input import NamedInput
from pipeline.parity.gates import Gates
from pipeline.parity.other_choices import first_right
from pipeline.parity.records import (
    END_TO_END,
    INPUT,
    MEAN_INPUT,
    SAME_INPUT,
    TOGETHER,
    WAY_BACK,
    Case,
)
from pipeline.parity.reference_result import ReferenceResult
from zoo.comparison import Figure, Findings, figure, gate_failure, shape_problem
from zoo.comparison.decision_rule import DecisionRule
from zoo.input_kinds import InputKind
from zoo.input_kinds.proof import Placed, input_proof
from zoo.tasks import Result, Task
from zoo.tasks.proof import EagerResult, Rounding, proof_of


def pipeline_cases(
    deployment: Deployment,
    images: Sequence[NamedInput],
    references: Sequence[ReferenceResult],
    gates: Gates,
    rule: DecisionRule,
) -> list[tuple[Case, Result | None]]:
    """Compare each image, by itself and as one of all that are given at once. Results as in ``pipeline_case``."""
    together: Sequence[Result | None] = [None] * len(images)
    if deployment.manifest.output_level == "final":
        together = deployment([image.value for image in images])
    return [
        pipeline_case(deployment, image, reference, gates, rule, result)
        for image, reference, result in zip(images, references, together, strict=True)
    ]


def pipeline_case(
    deployment: Deployment,
    image: NamedInput,
    reference: ReferenceResult,
    gates: Gates,
    rule: DecisionRule,
    together: Result | None = None,
) -> tuple[Case, Result | None]:
    """Compare one image; also the deployment's result, None where the output level has none.

    ``together``: its result where the deployment was given several images at once.
    """
    tensor, (geometry,) = deployment.preprocess([image.value])
    kind = deployment.task.kind
    findings = compare_input(kind, reference.own.tensor, tensor[0], gates["pipeline"])
    if not np.array_equal(reference.production.tensor, tensor[0]):
        failure = f"{kind.inputs[0].name}: the deployment's tensor is not the one that the config's preprocessing makes"
        findings += Findings.broken((failure,))
    if deployment.manifest.output_level != "final":
        return Case("pipeline", (image.name,), tensor.shape, replace(findings, blank=False)), None
    result = deployment(image.value)
    task, placed = deployment.task, reference.placed
    if (back := proof_of(task).way_back(geometry, placed, gates["graph"])) is not None:
        findings += _named(back, WAY_BACK)
    same = _same_input(task, reference, result, gates["graph"], rule)
    explain = not (findings.failures or same.failures)
    whole = end_to_end(task, reference, result, gates["pipeline"], rule, explain=explain)
    findings += replace(_named(same, SAME_INPUT), matched=0)  # each is counted once
    findings += _named(whole, END_TO_END)
    if together is not None:
        joint = _same_input(task, reference, together, gates["graph"], rule)
        findings += replace(_named(joint, TOGETHER), matched=0, figures=())
    return Case("pipeline", (image.name,), tensor.shape, findings), result


def end_to_end(
    task: Task,
    reference: ReferenceResult,
    result: Result,
    gates: Mapping[str, float],
    rule: DecisionRule,
    *,
    explain: bool,
) -> Findings:
    """``explain``: whether the rounding of the input may explain differences.

    Where a few roundings explain too little, many are asked: of an unsteady model two may move nothing, and ten a lot.
    """
    own, placed = reference.own, reference.placed
    rounding = reference.rounding if explain else None
    findings = compare_results(task, own, placed, result, gates, rule, rounding)
    if findings.failures and rounding is not None:
        findings = compare_results(task, own, placed, result, gates, rule, reference.more_rounding())
    return findings


def compare_input(
    kind: InputKind, reference: NDArray[np.float32], candidate: NDArray[np.float32], gates: Mapping[str, float]
) -> Findings:
    """The tensors that the two preprocessings make of one input: largest and mean error, of images in grey levels."""
    if problem := shape_problem(kind.inputs[0].name, reference, candidate):
        return Findings.broken((problem,))
    proof = input_proof(kind)
    measured = figure(INPUT, reference, candidate, unit=proof.unit, gate=gates["input_max"], scale=proof.scale)
    mean = Figure(MEAN_INPUT, proof.unit, measured.mean_error, measured.mean_error, None, 1, gates["input_mean"])
    failures = tuple(gate_failure(each) for each in (measured, mean) if not each.passed)
    return Findings(
        (measured, mean), failures=failures, faults=failures, blank=True
    )  # whether there is something to find, results show


def compare_results(
    task: Task,
    expected: EagerResult,
    placed: Placed,
    result: Result,
    gates: Mapping[str, float],
    rule: DecisionRule,
    rounding: Rounding | None = None,
) -> Findings:
    """Results for one image, in its own coordinates. ``rounding``: where it may explain differences."""
    reference = expected.result
    if type(reference) is not type(result):
        return Findings.broken((f"the backend gives a {type(result).__name__}, PyTorch a {type(reference).__name__}",))
    return proof_of(task).compare(expected, placed, result, gates, rule, rounding)


def _same_input(
    task: Task, reference: ReferenceResult, result: Result, gates: Mapping[str, float], rule: DecisionRule
) -> Findings:
    """The deployment's result with PyTorch's on the deployment's tensor, which may have several right answers."""

    def compare(expected: EagerResult) -> Findings:
        return compare_results(task, expected, reference.placed, result, gates, rule)

    return first_right(compare, reference.production, reference.others)


def _named(findings: Findings, what: str) -> Findings:
    return replace(
        findings,
        figures=tuple(replace(measured, name=f"{measured.name}, {what}") for measured in findings.figures),
        failures=tuple(f"{what}: {failure}" for failure in findings.failures),
        faults=tuple(f"{what}: {fault}" for fault in findings.faults),
    )
