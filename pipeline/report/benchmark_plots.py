"""The plots of a benchmark: time of a call, inputs a second, and how the time is divided."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from backends.benchmark.rows import Row
from backends.calls import Stages
from pipeline.report.plots import CANDIDATE, PADDING, REFERENCE, ROW, Plot, make_plot, usual

if TYPE_CHECKING:
    from bokeh.plotting import figure as Figure

OTHER = "#7a8a3c"
STAGE_COLOURS = (REFERENCE, CANDIDATE, OTHER)
DOT = 11


def benchmark_plots(rows: Sequence[Row], inputs: str) -> list[Plot]:
    """A line for each row, the first on top. `inputs`: what the models take, in the plural."""
    return [
        make_plot("latency", "Milliseconds of a call: median, 90th and 99th percentile", _latency(rows)),
        make_plot("throughput", f"{inputs.capitalize()} a second", _throughput(rows, f"{inputs}/s")),
        make_plot("stages", "Shares of the time of a call", _stages(rows)),
    ]


def label(row: Row) -> str:
    """A row on an axis; the table has the rest."""
    return f"row {row.number}"


def _figure(rows: Sequence[Row], title: str) -> "Figure":
    from bokeh.models import DataRange1d, FactorRange
    from bokeh.plotting import figure

    size = usual() | {"height": ROW * len(rows) + PADDING + ROW}
    down = FactorRange(factors=[label(row) for row in rows][::-1])
    return figure(y_range=down, x_range=DataRange1d(start=0), x_axis_label=title, **size)


def _latency(rows: Sequence[Row]) -> "Figure":
    from bokeh.models import HoverTool
    from bokeh.plotting import ColumnDataSource

    columns = {name: [getattr(row, name) for row in rows] for name in ("p50", "p90", "p99", "subject")}
    source = ColumnDataSource({"row": [label(row) for row in rows], **columns})
    drawn = _figure(rows, "ms")
    drawn.hbar(y="row", left="p50", right="p99", height=0.15, source=source, color=REFERENCE)
    for name, marker in (("p50", "circle"), ("p90", "triangle"), ("p99", "square")):
        drawn.scatter(name, "row", source=source, marker=marker, size=DOT, color=CANDIDATE)
    tooltips = [("", "@subject"), *((name, f"@{name}{{0.0}} ms") for name in ("p50", "p90", "p99"))]
    drawn.add_tools(HoverTool(visible=False, tooltips=tooltips))
    return drawn


def _throughput(rows: Sequence[Row], unit: str) -> "Figure":
    from bokeh.models import HoverTool
    from bokeh.plotting import ColumnDataSource

    source = ColumnDataSource(
        {
            "row": [label(row) for row in rows],
            "subject": [row.subject for row in rows],
            "rate": [row.images_per_second for row in rows],
        }
    )
    drawn = _figure(rows, unit)
    drawn.hbar(y="row", right="rate", height=0.7, source=source, color=REFERENCE)
    drawn.add_tools(HoverTool(visible=False, tooltips=[("", "@subject"), (unit, "@rate{0.0}")]))
    return drawn


def _stages(rows: Sequence[Row]) -> "Figure":
    from bokeh.models import HoverTool, NumeralTickFormatter
    from bokeh.plotting import ColumnDataSource

    shares = {stage: [row.shares[stage] for row in rows] for stage in Stages._fields}
    source = ColumnDataSource({"row": [label(row) for row in rows], **shares})
    drawn = _figure(rows, "share")
    drawn.xaxis.formatter = NumeralTickFormatter(format="0%")
    drawn.hbar_stack(
        list(shares), y="row", height=0.7, source=source, color=list(STAGE_COLOURS), legend_label=list(shares)
    )
    drawn.legend.orientation = "horizontal"
    drawn.add_layout(drawn.legend[0], "above")
    drawn.add_tools(HoverTool(visible=False, tooltips=[(stage, f"@{stage}{{0.0%}}") for stage in shares]))
    return drawn
