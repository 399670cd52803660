"""The job of a model that was built."""

from dataclasses import replace

from torch import nn

from pipeline.export.forward_options import forward_options
from pipeline.job.job import Job
from pipeline.parity.bound_task import bound_task


def bound_job(job: Job, model: nn.Module) -> Job:
    """The job, whose task knows what only a run of the model tells. ``model``: unpatched, in eval mode.

    Raises InputError where the model does not fit the task.
    """
    with forward_options(job, model):
        task = bound_task(job.task, model, job.forward, lambda: job.images, job.target, job.preprocess)
    return replace(job, task=task)
