"""The deployment in its folder: complete for a loader, with no verdict yet."""

from dataclasses import dataclass

from backends.backend import Built
from backends.registry import get_backend
from pipeline.base.steps import ENGINE, BeginStep
from pipeline.export.dtype_counts import computed_dtypes
from pipeline.export.engine_step import engine_step
from pipeline.export.manifest import manifest
from pipeline.stages.exported import Exported
from pipeline.stages.prepared import Prepared
from zoo.manifest import Manifest


@dataclass(frozen=True)
class Staged:
    """``engine``: what the backend built beside the ONNX file, None where it builds nothing."""

    engine: Built | None
    manifest: Manifest


def stage(prepared: Prepared, exported: Exported, progress: BeginStep) -> Staged:
    """Build what the backend needs, and write the manifest that the proof loads. Raises what the build raises."""
    job, folder, model, host = prepared.job, prepared.folder, prepared.model, prepared.host
    if get_backend(job.target.backend).files:
        progress(ENGINE)
    engine = engine_step(job.target, folder, model, exported.record.precision, host)
    computed = computed_dtypes(job.target, folder, engine, prepared.file_arrays)
    staged = Staged(engine, manifest(job, model, exported.record, folder, host, computed))
    staged.manifest.write(folder)
    return staged
