"""What is known of a graph on its backend, before anything is built: cured, refused or reported."""

from dataclasses import replace
from pathlib import Path

import onnx

from pipeline.export.graph_step import fired
from pipeline.preflight import Finding, preflight, refuse, steps
from rewriters import ExportRecord
from rewriters.graph_rewriters import rewrite_graph
from zoo.manifest import ONNX_FILE
from zoo.target import Target


def preflight_step(target: Target, folder: Path, export: ExportRecord) -> tuple[ExportRecord, tuple[Finding, ...]]:
    """The findings for the folder's ONNX file, which the graph rewriters that they name have changed then.

    Raises ExportError where the backend is known to refuse it.
    """
    path = folder / ONNX_FILE
    model = onnx.load(path)
    findings = preflight(model, target)
    refusal = refuse(findings)
    if refusal is not None:
        raise refusal
    if cures := steps(findings):
        model, done = rewrite_graph(model, cures)
        refusal = refuse(preflight(model, target), rewritten=True)
        if refusal is not None:
            raise refusal
        onnx.checker.check_model(model, full_check=True)
        path.write_bytes(model.SerializeToString(deterministic=True))
        export = replace(export, rewriters=(*export.rewriters, *fired(done)), nodes=len(model.graph.node))
    return export, findings
