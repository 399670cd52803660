"""What `zooport deploy` prints of a deploy: its parity, what was built, and where it is."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from pipeline.deploying import Deployed
    from pipeline.parity.records import ParityRecord

COMPUTED = ("float32", "float16", "int8")  # the types whose nodes are counted; integers and bools are indices


def print_parity(console: "Console", record: "ParityRecord") -> None:
    """For each comparison the worst figures beside their gates, and the verdict."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from pipeline.report.figure_rows import figure_row

    for kind in dict.fromkeys(case.kind for case in record.cases):
        findings = record.summary(kind)
        counts = f"{findings.matched} matched, {len(findings.borderline)} borderline"
        words = counts if record.metric is None else "recorded, the metric decides"
        table = Table(title=f"{kind} parity: {words}", title_justify="left", box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
        for column in ("figure", "largest", "mean", "unit", "gate", "verdict"):
            table.add_column(column, justify="right" if column in ("largest", "mean", "gate") else "left")
        for figure in findings.figures:
            row = figure_row(figure)
            table.add_row(*(row[key] for key in ("name", "largest", "mean", "unit", "gate", "verdict")))
        console.print(table)
    if record.metric is not None:
        metric = record.metric
        sentences = [metric] if isinstance(metric, str) else [figure.sentence(record.inputs) for figure in metric]
        for sentence in sentences:
            console.print(f"metric: {sentence}", highlight=False)
    for note in record.notes:
        console.print(note, style="dim", highlight=False)
    console.print(f"parity: {record.verdict}", highlight=False)


def print_build(console: "Console", deployed: "Deployed") -> None:
    """What is known of the graph on its backend, what its precision became, and the engine."""
    for finding in deployed.findings:
        console.print(f"preflight, {finding.action}: {finding}", highlight=False)
    precision = deployed.deployment.manifest.precision
    if "nodes" in precision:
        counts = ", ".join(
            f"{count} in {dtype}" for dtype, count in precision["nodes"]["computed"].items() if dtype in COMPUTED
        )
        console.print(
            f"precision: stored in {precision['stored']}, computes in {precision['computed']} ({counts})",
            highlight=False,
        )
    if deployed.engine is not None:
        console.print(f"engine: {deployed.engine.summary}, built in {deployed.engine.seconds:.1f} s", highlight=False)


def show(console: "Console", deployed: "Deployed") -> Mapping[str, Any]:
    """Print where everything lies; the same as data."""
    place, engine = deployed.place, deployed.engine
    previews = sorted(str(path) for path in (place / "previews").iterdir())
    for words, path in (("deployment", place), ("report", place / "report.html"), ("previews", place / "previews")):
        console.print(f"{words + ':':<12}{path}", soft_wrap=True, highlight=False)
    for folder in deployed.kept:
        console.print(
            f"kept: {folder} holds what others wrote into the old deployment's folder", soft_wrap=True, highlight=False
        )
    return {
        "deployment": str(place),
        "report": str(place / "report.html"),
        "previews": previews,
        "kept": [str(folder) for folder in deployed.kept],
        "parity": deployed.record.to_dict(),
        "preflight": [finding.to_dict() for finding in deployed.findings],
        "precision": dict(deployed.deployment.manifest.precision),
        "engine": None if engine is None else {**engine.record, "seconds": engine.seconds},
    }
