"""The report's plots, by Bokeh: zoomable, and whole without a network. Loaded when a page needs one.

A plot is data for the script of the page, which colours it for the theme; its numbers stand in a table as well.
"""

from collections.abc import Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from pipeline.proof.module_error_record import ModuleErrors
from zoo.tasks.scatter import Histogram, Point, Scatter

if TYPE_CHECKING:
    from bokeh.models import BasicTickFormatter
    from bokeh.plotting import figure as Figure

REFERENCE, CANDIDATE = "#2f8fd8", "#d2711c"
HEIGHT = 320  # pixels
ROW = 22
PADDING = 70
DOT = 7
TICKS = 10
TOOLS = "pan,box_zoom,zoom_in,zoom_out,reset"
Plot = Mapping[str, Any]


def plot_library() -> str:
    """The script that draws plots; its licence is in it."""
    from bokeh.resources import Resources

    return "\n".join(Resources(mode="inline", components=["bokeh"], log_level="warn").js_raw)


def scatter_plots(scatter: Scatter | Histogram, backend: str) -> list[Plot]:
    """PyTorch's values against the backend's, and their difference; of images how far their values are apart."""
    if isinstance(scatter, Histogram):
        return [_plot("levels", "How far values are apart", _level_bars(scatter))]
    if not scatter.points:
        return []
    return [
        _plot("scatter", f"{scatter.what}: PyTorch against {backend}", _both(scatter, backend)),
        _plot("scatter-difference", f"{scatter.what}: {backend} minus PyTorch", _apart(scatter, backend)),
    ]


def module_plot(modules: ModuleErrors) -> Plot:
    """Errors in graph order, on a logarithmic axis; an error of zero has no point there."""
    from bokeh.models import HoverTool
    from bokeh.plotting import ColumnDataSource, figure

    rows = modules.rows
    edge = 10 * max((row.error for row in rows if isfinite(row.error)), default=1.0) or 1.0
    source = ColumnDataSource(
        {
            "place": list(range(len(rows))),
            "module": [row.module for row in rows],
            "error": [_on_a_logarithm(row.error) for row in rows],
            "relative": [_on_a_logarithm(row.relative) for row in rows],
            "broken": [float("nan") if isfinite(row.error) else edge for row in rows],
        }
    )
    drawn = figure(
        y_axis_type="log", x_axis_label="module, in the order of the graph", y_axis_label="error", **_usual()
    )
    for name, words, ink, marker in (
        ("error", "largest error", CANDIDATE, "circle"),
        ("relative", "part of the range", REFERENCE, "triangle"),
    ):
        drawn.line("place", name, source=source, color=ink, legend_label=words)
        drawn.scatter("place", name, source=source, color=ink, marker=marker, size=DOT, legend_label=words)
    if not all(isfinite(row.error) for row in rows):
        drawn.scatter(
            "place", "broken", source=source, color=CANDIDATE, marker="x", size=2 * DOT, legend_label="not finite"
        )
    ends = [0, len(rows) - 1]
    drawn.line(ends, [modules.threshold] * 2, color=REFERENCE, line_dash="dashed", legend_label="threshold of the part")
    drawn.legend.click_policy = "hide"
    drawn.legend.orientation = "horizontal"
    drawn.add_layout(drawn.legend[0], "above")
    drawn.add_tools(
        HoverTool(
            visible=False, tooltips=[("module", "@module"), ("error", "@error{0.00e}"), ("part", "@relative{0.00e}")]
        )
    )
    return _plot("modules", "Error of each module", drawn)


def _on_a_logarithm(value: float) -> float:
    return value if value and isfinite(value) else float("nan")


def bar_plot(identity: str, title: str, counts: Mapping[str, int]) -> Plot:
    """How often each thing occurs, the first on top."""
    from bokeh.models import DataRange1d, FactorRange, HoverTool
    from bokeh.plotting import ColumnDataSource, figure

    names = list(counts)
    source = ColumnDataSource({"name": names, "count": list(counts.values())})
    size = _usual() | {"height": ROW * len(names) + PADDING}
    drawn = figure(y_range=FactorRange(factors=names[::-1]), x_range=DataRange1d(start=0), x_axis_label="nodes", **size)
    drawn.hbar(y="name", right="count", height=0.7, source=source, color=REFERENCE)
    drawn.add_tools(HoverTool(visible=False, tooltips=[("", "@name: @count")]))
    return _plot(identity, title, drawn)


def _both(scatter: Scatter, backend: str) -> "Figure":
    from bokeh.plotting import figure

    drawn = figure(x_axis_label=f"PyTorch's {scatter.what}", y_axis_label=f"{backend}'s {scatter.what}", **_usual())
    drawn.axis.formatter = _plain()
    ends = [min(point.reference for point in scatter.points), max(point.reference for point in scatter.points)]
    drawn.line(ends, ends, color=REFERENCE, line_dash="dashed")
    _dots(drawn, scatter.points, [point.candidate for point in scatter.points])
    return drawn


def _apart(scatter: Scatter, backend: str) -> "Figure":
    from bokeh.plotting import figure

    drawn = figure(x_axis_label=f"PyTorch's {scatter.what}", y_axis_label=f"{backend} minus PyTorch", **_usual())
    drawn.xaxis.formatter = _plain()
    _dots(drawn, scatter.points, [point.candidate - point.reference for point in scatter.points])
    return drawn


def _plain() -> "BasicTickFormatter":
    from bokeh.models import BasicTickFormatter

    return BasicTickFormatter(use_scientific=False)


def _dots(drawn: "Figure", points: Sequence[Point], heights: Sequence[float]) -> None:
    from bokeh.models import HoverTool
    from bokeh.plotting import ColumnDataSource

    columns = {name: [getattr(point, name) for point in points] for name in Point._fields}
    source = ColumnDataSource({**columns, "height": list(heights)})
    drawn.scatter("reference", "height", source=source, size=DOT, color=CANDIDATE, fill_alpha=0.5)
    drawn.add_tools(
        HoverTool(
            visible=False,
            tooltips=[
                ("", "@name in @image"),
                ("PyTorch", "@reference{0.[000000]}"),
                ("backend", "@candidate{0.[000000]}"),
            ],
        )
    )


def _level_bars(scatter: Histogram) -> "Figure":
    from bokeh.models import SingleIntervalTicker
    from bokeh.plotting import figure

    drawn = figure(y_axis_type="log", x_axis_label=f"difference ({scatter.unit})", y_axis_label="values", **_usual())
    levels, numbers = list(scatter.counts), list(scatter.counts.values())
    drawn.vbar(x=levels, top=numbers, bottom=0.5, width=0.8, color=CANDIDATE)  # a logarithmic axis has no zero
    drawn.xaxis.ticker = SingleIntervalTicker(interval=max(1, max(levels, default=0) // TICKS), num_minor_ticks=0)
    return drawn


def _plot(identity: str, title: str, drawn: "Figure") -> Plot:
    from bokeh.core.types import ID
    from bokeh.embed import json_item

    drawn.toolbar.logo = None
    return {"id": f"plot-{identity}", "title": title, "item": json_item(drawn, ID(f"plot-{identity}"))}


def _usual() -> dict[str, Any]:
    """A page must scroll over a plot, so a drag or a wheel does nothing until its tool is chosen."""
    return {
        "height": HEIGHT,
        "sizing_mode": "stretch_width",
        "tools": TOOLS,
        "active_drag": None,
        "active_scroll": None,
        "background_fill_color": None,
        "border_fill_color": None,
        "outline_line_color": None,
        "toolbar_location": "above",
    }
