"""The error of each module, for the report of a deploy: one picture through PyTorch and through the graph."""

from pathlib import Path

import onnx
from torch import nn

from pipeline.alignment.aligning import MEMORY, THRESHOLDS, align_subject
from pipeline.alignment.subject import subject_of
from pipeline.job import Job
from pipeline.report.module_error import ModuleError, ModuleErrors
from zoo.errors import ZooportError
from zoo.manifest import ONNX_FILE
from zoo.windows import Windows


def module_errors(job: Job, model: nn.Module, folder: Path, windows: Windows | None) -> ModuleErrors:
    """Of the graph in ``folder``, as ONNX Runtime computes it node by node, whatever the backend makes of it.

    What cannot be aligned has the reason in the place of rows, and keeps nothing from being published: parity decides.
    """
    if job.target.level == "plugin":
        return ModuleErrors("Plugin nodes run in TensorRT alone, so the tensors between modules were not compared.")
    try:
        subject = subject_of(job, model, onnx.load(folder / ONNX_FILE), windows)
        found = align_subject(subject, THRESHOLDS[job.target.precision], MEMORY, by_pieces=False, images=1)
    except ZooportError as error:
        return ModuleErrors(f"The tensors between modules were not compared: {error}")
    rows = [
        ModuleError(pair.name, pair.figures.max_error, pair.figures.relative, pair.verdict)
        for pair in found.pairs
        if pair.figures is not None
    ]
    return ModuleErrors(f"{found.images[0]}: {found.verdict}.", rows, found.threshold)
