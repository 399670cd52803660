"""The ONNX file of a deploy."""

from dataclasses import dataclass

from pipeline.base.steps import EXPORT, BeginStep
from pipeline.export.export_step import export_step
from pipeline.export.preflight_step import preflight_step
from pipeline.preflight import Finding
from pipeline.stages.prepared import Prepared
from rewriters import ExportRecord


@dataclass(frozen=True)
class Exported:
    """``record``: how model.onnx was made. ``findings``: what is known of its graph on the target's backend."""

    record: ExportRecord
    findings: tuple[Finding, ...]


def export(prepared: Prepared, progress: BeginStep) -> Exported:
    """Write model.onnx into the folder. Raises ExportError where the exporter or the backend refuses the model."""
    progress(EXPORT)
    job, folder = prepared.job, prepared.folder
    record = export_step(job, prepared.model, prepared.reference, folder, prepared.host, progress)
    return Exported(*preflight_step(job.target, folder, record))
