"""report.html: one self-contained page about a deployment."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from backends.backend import Built
from pipeline.parity.records import ParityRecord
from pipeline.preflight import Finding
from pipeline.proof.latency_record import Latency
from pipeline.proof.module_error_record import ModuleErrors
from pipeline.proof.preview import Preview
from pipeline.publishing.own_files import REPORT_FILE
from pipeline.report.card_facts import card_facts
from pipeline.report.deployment_tables import (
    file_table,
    gate_table,
    latency_table,
    module_table,
    operator_table,
    precision_table,
    profile_table,
    rewriter_table,
    tensor_table,
)
from pipeline.report.embedded import EMBEDDED, embedded_images
from pipeline.report.graph_facts import graph_facts
from pipeline.report.module_plots import module_plots
from pipeline.report.page import render
from pipeline.report.parity_tables import comparisons, constant_table, evidence, exercised_table, metric_table
from pipeline.report.plots import operator_plot, scatter_plots
from pipeline.report.scatter_table import scatter_table
from pipeline.report.table import Table
from pipeline.report.verdict import verdict_of
from rewriters import ExportRecord
from zoo.byte_sizes import format_size
from zoo.cards import Card
from zoo.manifest import ONNX_FILE, Manifest
from zoo.tasks import input_kind_of
from zoo.tasks.scatter import Histogram, Scatter

TEMPLATE = "deployment.html.jinja"


@dataclass(frozen=True)
class ReportData:
    """All that a report tells. What is None or empty has no section."""

    manifest: Manifest
    record: ParityRecord
    export: ExportRecord
    previews: Sequence[Preview] = ()
    scatter: Scatter | Histogram | None = None
    card: Card | None = None
    findings: Sequence[Finding] = ()
    engine: Built | None = None
    modules: ModuleErrors | None = None
    latency: Sequence[Latency] = ()


def write_report(folder: Path, data: ReportData) -> Path:
    """Write report.html into the folder, where the deployment's model.onnx is."""
    manifest, record = data.manifest, data.record
    kind = input_kind_of(manifest.task)
    graph = graph_facts(folder / ONNX_FILE)
    plots = [] if data.scatter is None else scatter_plots(data.scatter, manifest.backend)
    page = render(
        TEMPLATE,
        plots=True,
        manifest=manifest,
        record=record,
        export=data.export,
        engine=data.engine,
        findings=data.findings,
        verdict=verdict_of(
            record.verdict,
            level=manifest.output_level,
            by_metric=record.metric is not None,
            failures=record.failures,
        ),
        evidence=evidence(record),
        facts=_facts(manifest, data.export),
        card=None if data.card is None else card_facts(data.card),
        previews=embedded_images([(preview.name, preview.panels) for preview in data.previews[:EMBEDDED]]),
        more_previews=max(0, len(data.previews) - EMBEDDED),
        comparisons=comparisons(record, kind.one),
        metric=metric_table(record.metric, kind.plural) if isinstance(record.metric, tuple) else record.metric,
        gates=gate_table(record.gates),
        constants=constant_table(record) if record.constants else None,
        exercised=exercised_table(record) if record.exercised else None,
        scatter=data.scatter,
        scatter_plots=plots,
        scatter_table=None if data.scatter is None else scatter_table(data.scatter, kind.noun),
        modules=data.modules,
        module_plots=module_plots(data.modules) if data.modules else [],
        module_table=module_table(data.modules.rows) if data.modules else None,
        latency=latency_table(data.latency) if data.latency else None,
        graph=graph,
        operator_plot=operator_plot(graph.operators),
        operators=operator_table(graph),
        rewriters=rewriter_table(data.export),
        memory=format_size(data.export.peak_memory, 0),
        tensors=tensor_table(manifest),
        precision=precision_table(manifest),
        profiles=None if data.engine is None else profile_table(data.engine),
        files=file_table(manifest),
        versions=Table("Versions", ("package", "version"), list(manifest.versions.items())),
    )
    path = folder / REPORT_FILE
    path.write_text(page, encoding="utf-8")
    return path


def _facts(manifest: Manifest, export: ExportRecord) -> list[tuple[str, str]]:
    """What the deployment is, in a few words each."""
    precision = manifest.precision["stored"]
    if manifest.precision["computed"] != precision:
        precision += f", computed in {manifest.precision['computed']}"
    facts = [
        ("task", manifest.task),
        ("backend", manifest.backend),
        ("precision", precision),
        ("output level", manifest.output_level),
        ("exporter", f"{export.exporter}, opset {export.opset}"),
        ("size", format_size(sum(file["bytes"] for file in manifest.files.values()))),
    ]
    if (windows := manifest.windows) is not None:
        cut, step = ("x".join(map(str, sides)) for sides in (windows.crop_size, windows.stride))
        facts.append(("windows", f"windows of {cut} every {step} pixels, cut and joined by the backend"))
    if (pillars := manifest.pillars) is not None:
        facts.append(("pillars", f"made by the backend, {pillars.side:g} m, {pillars.slots} points of each are kept"))
    return facts
