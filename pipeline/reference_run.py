"""The run of the unpatched model, in eager PyTorch, before any export context is entered."""

from dataclasses import dataclass

from torch import nn

from pipeline.job import Job
from pipeline.parity.decision_rule import DecisionRule, decision_rule
from pipeline.parity.graph_inputs import graph_inputs
from pipeline.parity.graph_parity import GraphReference, graph_references
from pipeline.parity.reference_result import ReferenceResult, reference_result


@dataclass(frozen=True)
class ReferenceRun:
    """What the model gave: one entry of ``graph`` for each case, one of ``pipeline`` for each image; its thresholds."""

    graph: list[GraphReference]
    pipeline: list[ReferenceResult]
    rule: DecisionRule


def run_reference(job: Job, model: nn.Module) -> ReferenceRun:
    """Run the model on all that will be compared. ``model`` in eval mode, unpatched."""
    inputs = graph_inputs(job.images, job.target, job.preprocess)
    return ReferenceRun(
        graph=graph_references(model, job.task, job.target.level, job.forward, inputs),
        pipeline=[reference_result(model, job.task, job.preprocess, job.forward, image.pixels) for image in job.images],
        rule=decision_rule(model),
    )
