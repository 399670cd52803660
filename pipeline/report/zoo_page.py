"""All deployments under a folder: one page with a sortable table, and links to the report of each."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from pipeline.publishing.own_files import REPORT_FILE
from pipeline.report.formatting import format_milliseconds
from pipeline.report.page import render
from pipeline.report.recorded import Recorded, find_recorded
from pipeline.report.thumbnails import thumbnail
from pipeline.report.verdict import KINDS, TITLES
from zoo.byte_sizes import format_size
from zoo.files.writing import write_whole

TEMPLATE = "zoo.html.jinja"
NOT_MEASURED = "not measured"


def write_zoo(folder: str | Path, out: Path) -> tuple[Sequence[Mapping[str, Any]], Sequence[str]]:
    """Write the page; also its rows as plain JSON types, and why other folders cannot be read.

    Raises InputError where there is no deployment under the folder.
    """
    deployments, faults = find_recorded(folder, lambda one: (_row(one, Path(folder)), thumbnail(one)))
    rows = [row for _, (row, _) in deployments]
    page = render(
        TEMPLATE,
        plots=False,
        folder=str(folder),
        rows=[row | {"link": _link(one, out), "thumbnail": image} for one, (row, image) in deployments],
        counts=_counts(rows),
        milliseconds=format_milliseconds,
        faults=faults,
    )
    write_whole(out, page, make_folders=True)
    return rows, faults


def _row(one: Recorded, folder: Path) -> dict[str, Any]:
    manifest, metric, latency = one.manifest, one.metric, one.latency
    shares = {kind: one.share(kind) for kind in ("graph", "pipeline")}
    verdict = manifest.parity["verdict"] or NOT_MEASURED
    return {
        "name": manifest.name,
        "folder": os.path.relpath(one.folder, folder),
        "task": manifest.task,
        "backend": manifest.backend,
        "precision": manifest.precision["stored"],
        "exporter": manifest.exporter,
        "opset": manifest.opset,
        "level": manifest.output_level,
        "verdict": verdict,
        "kind": KINDS.get(verdict, "open"),
        "words": TITLES.get(verdict, verdict.capitalize()),
        "graph": _finite(shares["graph"]),
        "pipeline": _finite(shares["pipeline"]),
        "metric": None if metric is None else metric["value"] - metric["reference"],
        "unit": None if metric is None else metric["unit"],
        "bytes": one.bytes,
        "size": format_size(one.bytes),
        "latency": None if latency is None else latency._asdict(),
        "torch": manifest.versions.get("torch", ""),
        "deployed": one.deployed,
    }


def _finite(share: float | None) -> float | None:
    """JSON has no infinity; what is not finite has missed its gate, and the verdict says so."""
    return None if share is None or share == float("inf") else share


def _counts(rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str, int]]:
    """How many deployments have which verdict: (kind, words, number), the bad ones first."""
    order = {"bad": 0, "open": 1, "good": 2}
    kinds = sorted({(row["kind"], row["words"]) for row in rows}, key=lambda entry: (order[entry[0]], entry[1]))
    return [(kind, words, sum(row["words"] == words for row in rows)) for kind, words in kinds]


def _link(one: Recorded, out: Path) -> str | None:
    """From the page to the report, relative so that both can be moved; None where there is none."""
    report = one.folder / REPORT_FILE
    if not report.is_file():
        return None
    return quote(os.fsencode(os.path.relpath(report.resolve(), out.resolve().parent)))
