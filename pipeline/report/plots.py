"""The report's plots, by Bokeh: zoomable, and whole without a network. Loaded when a page needs one.

A plot is data for the script of the page, which colours it for the theme; its numbers stand in a table as well.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zoo.tasks.scatter import Histogram, Point, Scatter

if TYPE_CHECKING:
    from bokeh.models import BasicTickFormatter
    from bokeh.plotting import figure as Figure

REFERENCE, CANDIDATE = "#2f8fd8", "#d2711c"
HEIGHT = 320  # pixels
ROW = 22
PADDING = 70
MOST = 12
DOT = 7
TICKS = 10
FEW = 4  # ticks whose labels have room beside one another on a phone
TOOLS = "pan,box_zoom,zoom_in,zoom_out,reset"
Plot = Mapping[str, Any]


def plot_library() -> str:
    """The script that draws plots; its licence is in it."""
    from bokeh.resources import Resources

    return "\n".join(Resources(mode="inline", components=["bokeh"], log_level="warn").js_raw)


def scatter_plots(scatter: Scatter | Histogram, backend: str) -> list[Plot]:
    """PyTorch's values against the backend's, and their difference; of images how far their values are apart."""
    if isinstance(scatter, Histogram):
        return [make_plot("levels", "How far values are apart", _level_bars(scatter))]
    if not scatter.points:
        return []
    return [
        make_plot("scatter", f"{scatter.what}: PyTorch against {backend}", _both(scatter, backend)),
        make_plot("scatter-difference", f"{scatter.what}: {backend} minus PyTorch", _apart(scatter, backend)),
    ]


def operator_plot(counts: Mapping[str, int]) -> Plot:
    """The MOST operators that occur most often; ``counts``: of all, the most frequent first."""
    from bokeh.models import DataRange1d, FactorRange, HoverTool
    from bokeh.plotting import ColumnDataSource, figure

    names = list(counts)[:MOST]
    source = ColumnDataSource({"name": names, "count": [counts[name] for name in names]})
    size = usual() | {"height": ROW * len(names) + PADDING}
    drawn = figure(y_range=FactorRange(factors=names[::-1]), x_range=DataRange1d(start=0), x_axis_label="nodes", **size)
    drawn.hbar(y="name", right="count", height=0.7, source=source, color=REFERENCE)
    drawn.add_tools(HoverTool(visible=False, tooltips=[("", "@name: @count")]))
    title = "Operators of the graph"
    return make_plot("operators", f"{title}, the {MOST} most frequent" if len(counts) > MOST else title, drawn)


def _both(scatter: Scatter, backend: str) -> "Figure":
    from bokeh.models import BasicTicker
    from bokeh.plotting import figure

    drawn = figure(x_axis_label=f"PyTorch's {scatter.what}", y_axis_label=f"{backend}'s {scatter.what}", **usual())
    drawn.axis.formatter = _plain()
    drawn.xaxis.ticker = BasicTicker(desired_num_ticks=FEW)
    ends = [min(point.reference for point in scatter.points), max(point.reference for point in scatter.points)]
    drawn.line(ends, ends, color=REFERENCE, line_dash="dashed")
    _dots(drawn, scatter.points, [point.candidate for point in scatter.points])
    return drawn


def _apart(scatter: Scatter, backend: str) -> "Figure":
    from bokeh.models import BasicTicker
    from bokeh.plotting import figure

    drawn = figure(x_axis_label=f"PyTorch's {scatter.what}", y_axis_label=f"{backend} minus PyTorch", **usual())
    drawn.xaxis.formatter = _plain()
    drawn.xaxis.ticker = BasicTicker(desired_num_ticks=FEW)
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

    drawn = figure(y_axis_type="log", x_axis_label=f"difference ({scatter.unit})", y_axis_label="values", **usual())
    levels, numbers = list(scatter.counts), list(scatter.counts.values())
    drawn.vbar(x=levels, top=numbers, bottom=0.5, width=0.8, color=CANDIDATE)  # a logarithmic axis has no zero
    drawn.xaxis.ticker = SingleIntervalTicker(interval=max(1, max(levels, default=0) // TICKS), num_minor_ticks=0)
    return drawn


def make_plot(identity: str, title: str, drawn: "Figure") -> Plot:
    """A figure of Bokeh's as what the page draws under ``title``."""
    from bokeh.core.types import ID
    from bokeh.embed import json_item

    drawn.toolbar.logo = None
    return {"id": f"plot-{identity}", "title": title, "item": json_item(drawn, ID(f"plot-{identity}"))}


def usual() -> dict[str, Any]:
    """A page must scroll over a plot, so a drag or a wheel does nothing until its tool is chosen."""
    return {
        "height": HEIGHT,
        "sizing_mode": "stretch_width",
        "min_border_right": 24,  # half of the last label
        "tools": TOOLS,
        "active_drag": None,
        "active_scroll": None,
        "background_fill_color": None,
        "border_fill_color": None,
        "outline_line_color": None,
        "toolbar_location": "above",
    }
