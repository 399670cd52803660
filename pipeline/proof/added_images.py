"""Images that a deploy adds to the given ones, because they use a part of the model that no given one does."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import starmap

from torch import nn

from pipeline.export.reference_run import ReferenceRun, run_cases
from pipeline.inputs.named_input import NamedInput
from pipeline.inputs.parity_inputs import misfit
from pipeline.job.eager import job_runner
from pipeline.job.job import Job
from pipeline.parity.graph_inputs import GraphInput, stacked
from pipeline.parity.records import Exercised
from zoo.contract.coverage import Usage
from zoo.families import family_of
from zoo.input_kinds.proof import input_proof

MAX_ADDED_IMAGES = 3  # each costs a case of both comparisons


def with_added_images(job: Job, model: nn.Module, reference: ReferenceRun) -> tuple[Job, ReferenceRun]:
    """The job and its reference with more images, each of which uses a part that nothing before it used.

    At most MAX_ADDED_IMAGES are added; none where all is used, or where no composed image uses what is left. ``model``:
    unpatched.
    """
    unused = {(one.what, one.part) for one in reference.exercised if one.sought and not one.count}
    kind, target = job.task.kind, job.target
    rule = job.preprocess
    images, cases = [], []
    for image in starmap(NamedInput, input_proof(kind).composed(job.images)) if unused else ():
        if misfit(kind, image, rule, target) is not None:
            continue
        batch = [image] * target.batch.min
        case = stacked(kind, batch, target.preferred, job.preprocess, image_sizes=target.image_sizes)
        used = unused & {key for key, count in _counts(job, model, case).items() if count}
        if used:
            unused -= used
            images.append(image)
            cases.append(case)
        if not unused or len(images) == MAX_ADDED_IMAGES:
            break
    if not images:
        return job, reference
    more = run_cases(replace(job, images=images), model, cases)
    whole = ReferenceRun(
        [*reference.graph, *more.graph],
        [*reference.pipeline, *more.pipeline],
        reference.rule,
        _summed(reference.exercised, more.exercised),
    )
    return replace(job, images=[*job.images, *images]), whole


def _counts(job: Job, model: nn.Module, case: GraphInput) -> Mapping[tuple[str, str], int]:
    """What one case uses of the model."""
    usage = Usage()
    runner = job_runner(job, model)
    with family_of(model).coverage(model, usage):
        runner.run(case.arrays)
    return usage.counts


def _summed(first: tuple[Exercised, ...], second: tuple[Exercised, ...]) -> tuple[Exercised, ...]:
    counts = {(one.what, one.part): one for one in first}
    for one in second:
        key = one.what, one.part
        counts[key] = replace(one, count=one.count + counts[key].count) if key in counts else one
    return tuple(counts.values())
