"""What the tables say of a cell; the same on the terminal, in Markdown and in HTML."""

from dataclasses import dataclass
from pathlib import PurePosixPath
from urllib.parse import quote

from pipeline.regression.cell import Cell
from pipeline.regression.matrix import Matrix
from pipeline.regression.result import Measured, Regression, Result
from zoo.byte_sizes import format_size

REPORT = "report.html"


@dataclass(frozen=True)
class Entry:
    """A cell as text. ``kind``: "good", "bad" or "open". ``links``: (words, address relative to the report)."""

    id: str
    title: str
    column: str
    verdict: str
    kind: str
    metric: str
    cost: str
    reason: str
    links: tuple[tuple[str, str], ...]


def entry_of(cell: Cell, result: Result) -> Entry:
    """Everything that the tables say of a cell."""
    links = [(PurePosixPath(log).name, quote(log)) for log in result.logs]
    if result.deployment is not None:
        links.append(("report", quote(f"{result.deployment}/{REPORT}")))
    return Entry(
        id=cell.id,
        title=f"{cell.model}, {format_column(cell.column)}",
        column=format_column(cell.column),
        verdict=str(result.state),
        kind=result.state.kind,
        metric="" if result.measured is None else format_metric(result.measured),
        cost="" if result.deployment is None else ", ".join(_costs(result)),
        reason=result.reason,
        links=tuple(links),
    )


def entry_rows(regression: Regression) -> list[tuple[str, list[Entry]]]:
    """For each model its name and its entries, in the order of the matrix's columns."""
    entries = {(cell.model, cell.column): entry_of(cell, result) for cell, result in regression.cells}
    return [
        (model, [entries[model, column] for column in regression.matrix.columns]) for model in regression.matrix.models
    ]


def format_column(column: tuple[str, str, str]) -> str:
    """Backend, precision and exporter."""
    return " ".join(column)


def format_metric(measured: Measured) -> str:
    """The metric's short name, its figure and the difference to PyTorch."""
    if measured.metric is None:
        return ""
    name = measured.metric.rpartition("/")[2]
    if measured.figure is None or measured.difference is None:
        return f"{name}: nothing to judge"
    return f"{name} {measured.figure:.2f} ({measured.difference:+.3f} {measured.unit})"


def format_images(matrix: Matrix) -> str:
    """Which images the metrics are about."""
    split = "the gate split" if matrix.gate_split else "the data set"
    return f"all inputs of {split}" if matrix.limit is None else f"the first {matrix.limit} inputs of {split}"


def _costs(result: Result) -> list[str]:
    costs = [] if result.deploy_seconds is None else [f"deployed in {result.deploy_seconds:.1f} s"]
    return costs + ([] if result.bytes is None else [format_size(result.bytes, 1)])
