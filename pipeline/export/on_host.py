"""Which part of a deployment is the host's."""

from dataclasses import replace

from torch import nn

from pipeline.export.host_part import HostPart
from pipeline.export.host_pillars import PillarsOnHost
from pipeline.export.host_windows import WindowsOnHost, host_windows, window_model
from pipeline.job.job import Job
from zoo.errors import InputError
from zoo.families import family_of
from zoo.pillars import LEVEL
from zoo.target import FINAL


def on_host(job: Job, model: nn.Module) -> tuple[Job, HostPart | None]:
    """The job of what the deployment takes and gives, and what the backend does on the host; None: nothing.

    Raises InputError where the target asks for what the model does not have, or for options that do not fit.
    """
    target, section = job.target, job.config.export
    values = [image.value for image in job.images]
    pillars = family_of(model).pillars(model, target, section.level_options, values)
    if pillars is not None:
        return replace(job, target=target.with_(level=FINAL)), PillarsOnHost(job, model, pillars)
    if section.level_options and target.level == section.target.get("level", FINAL):
        raise InputError(
            f"config {job.config.path}: export.level_options with output level {target.level}: it has no options; "
            f"leave them out, or set output_level={LEVEL!r} for a detector on pillars"
        )
    windows = host_windows(model, target)
    return job, None if windows is None else WindowsOnHost(window_model(job, model), windows, target.level)
