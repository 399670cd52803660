"""What is measured of a proved deployment, for people: the error of each module, and how long a call takes."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.base.steps import MEASURE, BeginStep
from pipeline.proof.latency import latency
from pipeline.proof.latency_record import Latency
from pipeline.proof.module_error_record import ModuleErrors
from pipeline.proof.module_errors import module_errors
from pipeline.stages.prepared import Prepared


@dataclass(frozen=True)
class Measured:
    """``latency``: empty where the backend cannot run here."""

    modules: ModuleErrors
    latency: Sequence[Latency]


def measure(prepared: Prepared, progress: BeginStep) -> Measured:
    """Run the deployment in its folder beside PyTorch."""
    progress(MEASURE)
    job, model, folder = prepared.job, prepared.model, prepared.folder
    modules = module_errors(job, model, folder, prepared.host)
    return Measured(modules, latency(job, model, folder, prepared.arrays))
