"""The parity record as tables: the worst of each output, then each input case by itself."""

from collections.abc import Sequence
from dataclasses import dataclass

from pipeline.parity.records import Case, MetricFigure, ParityRecord
from pipeline.report.figure_rows import figure_row
from pipeline.report.formatting import format_shape
from pipeline.report.table import Table
from zoo.comparison import Borderline, Figure

TITLES = {
    "graph": "Graph: identical tensors into PyTorch and into the backend",
    "pipeline": "Pipeline: {one} into the deployment, and into PyTorch by a path of its own",
}
KEYS = ("name", "largest", "mean", "unit", "cosine", "gate", "share", "verdict")
HEADS = ("output", "largest error", "mean error", "unit", "cosine", "gate", "part of the gate", "verdict")


@dataclass(frozen=True)
class Comparison:
    """One of the two comparisons of a deploy."""

    kind: str
    title: str
    outputs: Table
    cases: Table
    count: int
    matched: int
    borderline: Sequence[Borderline]


def comparisons(record: ParityRecord, one: str) -> list[Comparison]:
    """Both, in the order of TITLES. ``one``: an input of the task, in words."""
    return [_comparison(kind, record, one) for kind in TITLES]


def evidence(record: ParityRecord) -> str:
    """What the verdict rests on, in one line."""
    counts = []
    for kind, what in (("graph", "sets of input tensors"), ("pipeline", record.inputs)):
        summary = record.summary(kind)
        number = f"{sum(case.kind == kind for case in record.cases)} {what}"
        outcome = f" ({summary.matched} matched, {len(summary.borderline)} borderline)"
        counts.append(number + outcome * (record.metric is None))
    recorded = "" if record.metric is None else "; their differences are recorded, and the metric decides"
    return f"Compared with the unpatched PyTorch model: {' and '.join(counts)}{recorded}."


def constant_table(record: ParityRecord) -> Table:
    """Each constant of the graph beside the model's."""
    rows = [
        (one.name, one.module or "the model", one.expected, one.found, "passed" if one.passed else "missed")
        for one in record.constants
    ]
    return Table("Constants of the graph", ("constant", "module", "PyTorch", "graph", "verdict"), rows)


def exercised_table(record: ParityRecord) -> Table:
    """What the images used of the model, what they did not use first."""
    ordered = sorted(record.exercised, key=lambda one: one.count > 0)
    rows = [(one.what, one.part, str(one.count) if one.count else "not used") for one in ordered]
    return Table(f"What the {record.inputs} exercised", ("what", "part", "times"), rows, frozenset({2}))


def metric_table(metric: Sequence[MetricFigure], inputs: str) -> Table:
    """The figures that decide below fp32: of the deployment, and of what else was measured on how many ``inputs``."""
    rows = [
        (
            figure.what or "the deployment",
            figure.name,
            f"{figure.reference:.2f}",
            f"{figure.value:.2f}",
            f"{figure.difference:+.3f}",
            f"{figure.gate:g}",
            figure.unit,
            str(figure.images),
            "passed" if figure.passed else "missed",
        )
        for figure in metric
    ]
    heads = ("of", "metric", "PyTorch", "backend", "difference", "gate", "unit", inputs, "verdict")
    return Table("The metric on the data set", heads, rows, frozenset({2, 3, 4, 5, 7}))


def _comparison(kind: str, record: ParityRecord, one: str) -> Comparison:
    summary = record.summary(kind)
    cases = [case for case in record.cases if case.kind == kind]
    rows = [_cells(figure) for figure in summary.figures]
    numbers = {1, 2, 4, 5, 6}
    return Comparison(
        kind,
        TITLES[kind].format(one=one),
        Table(f"Worst error of each output, {kind} comparison", HEADS, rows, frozenset(numbers)),
        Table(
            f"Errors of each input case, {kind} comparison",
            ("input", "tensor", *HEADS),
            [row for case in cases for row in _case_rows(case)],
            frozenset(number + 2 for number in numbers),
        ),
        len(cases),
        summary.matched,
        summary.borderline,
    )


def _case_rows(case: Case) -> list[tuple[str, ...]]:
    about = (", ".join(case.images), format_shape(case.shape))
    figures = [(*about, *_cells(figure)) for figure in case.findings.figures]
    empty = [""] * (len(HEADS) - 2)
    wrong = [(*about, failure, *empty, "missed") for failure in case.findings.failures]
    return figures + wrong or [(*about, "nothing was compared", *empty, "")]


def _cells(figure: Figure) -> tuple[str, ...]:
    row = figure_row(figure)
    return tuple(row[key] for key in KEYS)
