"""The job of a model that was built."""

from dataclasses import replace

from torch import nn

from pipeline.export.forward_options import forward_options
from pipeline.inputs.named_input import NamedInput
from pipeline.job.job import Job
from pipeline.parity.bound_task import bound_task
from zoo.families import checked_divisor


def bound_job(job: Job, model: nn.Module) -> Job:
    """The job, whose task knows what only a run of the model tells. ``model``: unpatched, in eval mode.

    Raises InputError where the model does not fit the task.
    """

    def images() -> list[NamedInput]:
        checked_divisor(model, job.target)  # before the model is run at a size that it does not take
        return job.images

    with forward_options(job, model):
        task = bound_task(job.task, model, job.forward, images, job.target, job.preprocess)
    return replace(job, task=task)
