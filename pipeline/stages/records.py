"""What a deploy writes once the verdict is known: the self-test, the manifest, parity.json, previews and the report."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime

from pipeline.base.steps import REPORT, BeginStep
from pipeline.export.export_step import measured as measured_export
from pipeline.parity.records import dump_json
from pipeline.proof.previews import draw_previews
from pipeline.publishing.own_files import PARITY_FILE
from pipeline.report.card_facts import card_of
from pipeline.report.deployment_page import ReportData, write_report
from pipeline.self_test.writing import with_self_test
from pipeline.stages.exported import Exported
from pipeline.stages.measured import Measured
from pipeline.stages.prepared import Prepared
from pipeline.stages.proved import Proved
from pipeline.stages.staged import Staged
from zoo.tasks import Result
from zoo.tasks.proof import Compared, proof_of
from zoo.tasks.scatter import Histogram, Scatter


def write_records(
    prepared: Prepared, exported: Exported, staged: Staged, proved: Proved, measured: Measured, progress: BeginStep
) -> None:
    """Write them into the deployment's folder."""
    progress(REPORT)
    job, folder, reference = prepared.job, prepared.folder, prepared.reference
    manifest = replace(staged.manifest, parity={"verdict": proved.record.verdict})
    manifest = with_self_test(job, prepared.self_test, reference.rule, folder, manifest)
    manifest.write(folder)
    measures = {
        "export": measured_export(exported.record),
        "modules": measured.modules.to_dict(),
        "latency": [row._asdict() for row in measured.latency],
        "deployed": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    (folder / PARITY_FILE).write_text(dump_json(proved.record.to_dict() | measures), encoding="utf-8")
    data = ReportData(
        manifest,
        proved.record,
        exported.record,
        draw_previews(job, reference, proved.results, folder),
        scatter=_scatter(prepared, proved.results),
        card=None if prepared.checkpoint is not None else card_of(job.config),  # a card tells of the config's weights
        findings=exported.findings,
        engine=staged.engine,
        modules=measured.modules,
        latency=measured.latency,
    )
    write_report(folder, data)


def _scatter(prepared: Prepared, results: Sequence[Result | None]) -> Scatter | Histogram | None:
    """What both found in the very tensors that the deployment made; None where the output level has no results."""
    job = prepared.job
    pairs = [
        Compared(image.name, expected.placed, expected.production, result)
        for image, expected, result in zip(job.images, prepared.reference.pipeline, results, strict=True)
        if result is not None
    ]
    return proof_of(job.task).scatter(pairs, job.gates["graph"]) if pairs else None
