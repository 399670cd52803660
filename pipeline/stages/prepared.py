"""What a deploy starts from: the model, and what it gives unpatched for all that will be compared."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from torch import nn

from pipeline.base.steps import BUILD, REFERENCE, BeginStep
from pipeline.export.bound_job import bound_job
from pipeline.export.host_part import HostPart
from pipeline.export.on_host import on_host
from pipeline.export.reference_run import ReferenceRun, run_reference
from pipeline.job.job import Job
from pipeline.proof.added_images import with_added_images
from pipeline.self_test.case import SelfTestCase, self_test_case
from zoo.build import build_model
from zoo.families import check_exporter


@dataclass(frozen=True)
class Prepared:
    """``job``: with the images that were added. ``folder``: where the deployment is made.

    ``checkpoint``: weights in place of the config's. ``host``: what the backend does on the host. ``self_test``: its
    input, None where the deployment has no self-test.
    """

    job: Job
    folder: Path
    checkpoint: str | Path | None
    model: nn.Module
    host: HostPart | None
    reference: ReferenceRun
    self_test: SelfTestCase | None

    @property
    def arrays(self) -> Mapping[str, NDArray[Any]]:
        """The deployment's inputs of the first case, by name."""
        return self.job.contract(self.model).default_arrays() | dict(self.reference.graph[0].given.arrays)

    @property
    def file_arrays(self) -> Mapping[str, NDArray[Any]]:
        """The same of its file."""
        return self.arrays if self.host is None else self.host.file_arrays(self.arrays)


def prepare(job: Job, folder: Path, checkpoint: str | Path | None, progress: BeginStep) -> Prepared:
    """Build the model, and run it before any export begins. Raises InputError for weights or sizes that do not fit.

    And ExportError for sizes that the exporter would not keep apart.
    """
    progress(BUILD)
    model = build_model(job.config, checkpoint)
    check_exporter(model, job.target)  # before the model is run, which takes long
    planned = job
    job, host = on_host(planned, model)
    progress(REFERENCE)
    job = bound_job(job, model)
    reference = run_reference(job, model)
    self_test = self_test_case(job, model, reference)
    if self_test is not None:
        reference = replace(reference, graph=[*reference.graph, self_test.reference])
    job, reference = with_added_images(job, model, reference)
    if host is not None:
        _, host = on_host(replace(planned, images=job.images), model)  # of all that is compared
    return Prepared(job, folder, checkpoint, model, host, reference, self_test)
