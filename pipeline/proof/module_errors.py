"""The error of each module, for the report of a deploy: one image through PyTorch and through the graph."""

from collections.abc import Iterator
from math import inf, isinf
from pathlib import Path

import onnx
from torch import nn

from pipeline.alignment.aligning import MEMORY, THRESHOLDS, align_subject
from pipeline.alignment.figures import Figures
from pipeline.alignment.records import Alignment
from pipeline.alignment.subject import subject_of
from pipeline.export.host_part import HostPart
from pipeline.job.job import Job
from pipeline.proof.module_error_record import ModuleError, ModuleErrors
from zoo.manifest import ONNX_FILE

AS_RUN = "The graph was computed by ONNX Runtime node by node, whatever the backend makes of it."


def module_errors(job: Job, model: nn.Module, folder: Path, host: HostPart | None) -> ModuleErrors:
    """Of the graph in ``folder``. What cannot be aligned has the reason in the place of rows.

    Whatever goes wrong keeps nothing from being published: parity decides, and this is for people.
    """
    if job.target.level == "plugin":
        return ModuleErrors("Plugin nodes run only in TensorRT, so the tensors between modules were not compared.")
    try:
        subject = subject_of(job, model, onnx.load(folder / ONNX_FILE), host)
        alignment = align_subject(subject, THRESHOLDS[job.target.precision], MEMORY, by_pieces=False, images=1)
    except Exception as error:  # noqa: BLE001 - see above
        reason = next(iter(str(error).splitlines()), "")
        return ModuleErrors(f"The tensors between modules were not compared: {type(error).__name__}: {reason}")
    rows = [
        ModuleError(pair.name, _largest(pair.figures), pair.figures.relative, pair.verdict)
        for pair in alignment.pairs
        if pair.figures is not None
    ]
    return ModuleErrors(
        f"{alignment.images[0]}: {alignment.verdict}.", rows, alignment.threshold, tuple(_notes(alignment))
    )


def _largest(figures: Figures) -> float:
    """Figures has that of what is finite on both sides."""
    return inf if isinf(figures.relative) else figures.max_error


def _notes(alignment: Alignment) -> Iterator[str]:
    yield AS_RUN
    yield from alignment.notes
    without = sum(pair.figures is None for pair in alignment.pairs) + len(alignment.absent)
    if without:
        yield f"Modules or tensors that could not be compared: {without}; zooport align --json has the reasons."
    if alignment.changed:
        yield f"The graph's own outputs change by {alignment.changed:.2g} when tensors between modules are also read."
