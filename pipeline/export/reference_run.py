"""The run of the unpatched model, in eager PyTorch, before any export context is entered."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from torch import nn

from pipeline.export.forward_options import forward_options
from pipeline.export.other_decisions import at_other_decisions
from pipeline.export.scales import at_other_scales
from pipeline.export.thresholds import OTHERS, default_thresholds, with_thresholds
from pipeline.job.eager import job_references
from pipeline.job.job import Job
from pipeline.parity.graph_inputs import GraphInput, graph_inputs
from pipeline.parity.graph_parity import GraphReference
from pipeline.parity.other_choices import OtherChoice
from pipeline.parity.records import Exercised
from pipeline.parity.reference_result import ReferenceResult, reference_result
from zoo.comparison.decision_rule import DecisionRule
from zoo.contract.coverage import Usage
from zoo.families import checked_divisor, family_of
from zoo.tasks.proof import proof_of


@dataclass(frozen=True)
class ReferenceRun:
    """What the model gave: one entry of ``graph`` for each case, one of ``pipeline`` for each image; its thresholds.

    ``exercised``: what the runs used of the model, level by level and threshold by threshold.
    """

    graph: list[GraphReference]
    pipeline: list[ReferenceResult]
    rule: DecisionRule
    exercised: tuple[Exercised, ...] = ()


def run_reference(job: Job, model: nn.Module) -> ReferenceRun:
    """Run the model on all that will be compared. ``model`` in eval mode, unpatched.

    Raises InputError where the model does not take the target's sizes, or what the config's `export.forward` gives it.
    """
    inputs = graph_inputs(job.task.kind, job.images, job.target, job.preprocess, checked_divisor(model, job.target))
    with forward_options(job, model):
        others = [*at_other_scales(model, inputs), *at_other_decisions(job, job.contract(model), inputs)]
        return run_cases(job, model, [*inputs, *others], other_thresholds=True)


def run_cases(job: Job, model: nn.Module, inputs: list[GraphInput], *, other_thresholds: bool = False) -> ReferenceRun:
    """The model on these cases and on the job's images. ``other_thresholds``: the first case at some as well."""
    usage = Usage()
    with family_of(model).coverage(model, usage):
        graph = job_references(job, model, inputs)
        for reference in graph:
            for what, part, count in proof_of(job.task).exercised(reference.outputs):
                usage.add(what, part, count, sought=False)
        if other_thresholds:
            graph += _at_other_thresholds(job, model, inputs[0])
        results = [
            reference_result(
                model,
                job.task,
                job.preprocess,
                job.forward,
                image.value,
                image_sizes=job.target.image_sizes,
                near=job.gates["graph"]["logits"],
            )
            for image in job.images
        ]
    exercised = tuple(
        Exercised(what, part, count, sought=(what, part) not in usage.unsought)
        for (what, part), count in usage.counts.items()
    )
    return ReferenceRun(graph, results, family_of(model).decision_rule(model), exercised)


def _at_other_thresholds(job: Job, model: nn.Module, entry: GraphInput) -> Iterator[GraphReference]:
    """One case at other thresholds than the model's own, where they are inputs of the graph."""
    if not default_thresholds(model, job.target):
        return
    family = family_of(model)
    for score, iou in OTHERS:
        with family.at_thresholds(model, score, iou):
            (reference,) = job_references(job, model, [entry])
            yield replace(
                reference,
                given=with_thresholds(entry, score, iou),
                others=partial(_others_at, model, score, iou, reference.others),
                rule=family.decision_rule(model),
            )


def _others_at(
    model: nn.Module, score: float, iou: float, others: Callable[[], Iterator[OtherChoice]]
) -> Iterator[OtherChoice]:
    """They are made later: the model decides by these thresholds while they are asked for."""
    with family_of(model).at_thresholds(model, score, iou):
        yield from others()
