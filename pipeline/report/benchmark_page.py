"""A benchmark as one self-contained page."""

from pathlib import Path

from backends.benchmark.rows import NOISY, STEADY, Stability
from backends.benchmark.run import Benchmark
from backends.benchmark.words import (
    COLD_HEADS,
    STAGE_HEADS,
    call_heads,
    call_rows,
    cold_rows,
    comparison,
    stability_words,
    stage_rows,
)
from pipeline.report.benchmark_plots import benchmark_plots
from pipeline.report.page import render
from pipeline.report.table import Table
from zoo.files.writing import write_whole

TEMPLATE = "benchmark.html.jinja"
NUMBERS_FROM = 2  # the first two columns are the row and what it is


def write_benchmark(measured: Benchmark, out: Path) -> None:
    """Write the page."""
    rows, stability, kind = measured.rows, measured.stability, measured.kind
    heads = call_heads(kind)
    page = render(
        TEMPLATE,
        plots=True,
        kind="good" if stability.verdict == STEADY else "open",
        title=_title(stability),
        sentence=stability_words(stability).partition(": ")[2],
        comparisons=[(f"Row {row.number}, {row.subject}", comparison(row)) for row in rows if row.compared_with],
        facts=[
            ("processor", str(measured.processor)),
            ("rounds", str(measured.rounds)),
            (kind.plural, ", ".join(map(kind.size_words, measured.images))),
            ("processes for each row", str(measured.cold_rounds)),
        ],
        one=kind.one,
        noisy=f"{NOISY:.0%}",
        calls=Table("Calls", heads, call_rows(rows), frozenset(range(NUMBERS_FROM, len(heads) - 1))),
        stages=Table("Stages of a call", STAGE_HEADS, stage_rows(rows), frozenset(range(NUMBERS_FROM, 5))),
        colds=Table("Starts", COLD_HEADS, cold_rows(rows), frozenset(range(NUMBERS_FROM, 5))),
        plots_of_rows=benchmark_plots(rows, kind.plural),
    )
    write_whole(out, page)


def _title(stability: Stability) -> str:
    """The verdict on the machine, as a heading."""
    return "The machine was steady" if stability.verdict == STEADY else stability.verdict.capitalize()
