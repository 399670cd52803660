"""The errors of modules by name: relative ones, which are judged, and absolute ones, each on an axis of its own."""

from collections.abc import Sequence
from math import ceil, floor, isfinite, log10, sqrt
from typing import TYPE_CHECKING, Any

from pipeline.proof.module_error_record import ModuleError, ModuleErrors
from pipeline.report.formatting import format_error
from pipeline.report.plots import CANDIDATE, DOT, PADDING, REFERENCE, ROW, Plot, make_plot, usual

if TYPE_CHECKING:
    from bokeh.plotting import ColumnDataSource
    from bokeh.plotting import figure as Figure

MOST = 20  # modules of a plot
LONGEST = 30  # characters of a name on its axis
TICKS = 5
MARGIN = 2.5  # room at the right for what is not finite
BROKEN = "#d1342b"


def largest_errors(modules: ModuleErrors) -> list[ModuleError]:
    """The MOST modules with the largest relative errors, in graph order; those without any error are left out."""
    wrong = [row for row in modules.rows if row.error]
    worst = sorted(range(len(wrong)), key=lambda place: -wrong[place].relative)[:MOST]
    return [wrong[place] for place in sorted(worst)]


def module_plots(modules: ModuleErrors) -> list[Plot]:
    """The relative errors, then the absolute ones, on logarithmic axes; none where no module has an error."""
    rows = largest_errors(modules)
    if not rows:
        return []
    relative = _by_name(rows, [row.relative for row in rows], "part of the range", CANDIDATE, modules.threshold)
    absolute = _by_name(rows, [row.error for row in rows], "tensor's own unit", REFERENCE)
    return [
        make_plot("modules-relative", f"Relative error; dashed: the threshold, {modules.threshold:g}", relative),
        make_plot("modules-absolute", "Absolute error", absolute),
    ]


def _by_name(
    rows: Sequence[ModuleError], errors: Sequence[float], label: str, ink: str, threshold: float = 0.0
) -> "Figure":
    """A row for each module, the first on top. What is not finite is a cross at the right."""
    from bokeh.models import FixedTicker, HoverTool, Range1d
    from bokeh.plotting import figure

    places = list(range(len(rows)))
    decades = _decades([*errors, threshold])
    usual_size: dict[str, Any] = usual() | {"height": ROW * len(rows) + PADDING}
    across, down = Range1d(start=decades[0], end=MARGIN * decades[-1]), Range1d(start=len(rows) - 0.5, end=-0.5)
    drawn = figure(x_axis_type="log", x_axis_label=label, x_range=across, y_range=down, **usual_size)
    drawn.xaxis.ticker = drawn.xgrid.ticker = FixedTicker(ticks=decades[:: ceil(len(decades) / TICKS)])
    drawn.yaxis.ticker = drawn.ygrid.ticker = FixedTicker(ticks=places)
    drawn.yaxis.major_label_overrides = {place: shortened(row.module) for place, row in enumerate(rows)}
    if threshold:
        drawn.line([threshold] * 2, [-0.5, len(rows) - 0.5], color=REFERENCE, line_dash="dashed")
    for finite, marker, color, size in ((True, "circle", ink, DOT), (False, "x", BROKEN, 2 * DOT)):
        shown = [place for place in places if errors[place] and isfinite(errors[place]) == finite]
        if shown:
            source = _source(rows, errors, shown, sqrt(MARGIN) * decades[-1])
            drawn.scatter("error", "place", source=source, color=color, marker=marker, size=size, line_width=2)
    drawn.add_tools(HoverTool(visible=False, tooltips=[("module", "@module"), ("error", "@words")]))
    return drawn


def _source(
    rows: Sequence[ModuleError], errors: Sequence[float], places: Sequence[int], edge: float
) -> "ColumnDataSource":
    from bokeh.plotting import ColumnDataSource

    finite = [errors[place] if isfinite(errors[place]) else None for place in places]
    return ColumnDataSource(
        {
            "place": list(places),
            "module": [rows[place].module for place in places],
            "error": [edge if error is None else error for error in finite],
            "words": [format_error(error) for error in finite],
        }
    )


def _decades(values: Sequence[float]) -> list[float]:
    """The powers of ten around and between all positive, finite values; two at least."""
    logarithms = [log10(value) for value in values if value > 0 and isfinite(value)] or [0.0]
    first, last = floor(min(logarithms)), ceil(max(logarithms))
    return [10.0**power for power in range(first, max(last, first + 1) + 1)]


def shortened(name: str) -> str:
    """The end of a long name, which tells modules apart, from the start of one of its parts."""
    if len(name) <= LONGEST:
        return name
    end = name[1 - LONGEST :]
    return "\u2026" + (end.partition(".")[2] or end)
