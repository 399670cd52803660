"""The data of a scatter plot or a histogram as a table, for those who do not see the plot."""

from pipeline.report.table import Table
from zoo.tasks.scatter import Histogram, Scatter

LISTED = 100  # rows of a table that stands for a plot


def scatter_table(scatter: Scatter | Histogram, noun: str) -> Table:
    """The points that are furthest apart, or how many values are how far apart. ``noun``: what an input is called."""
    if isinstance(scatter, Histogram):
        rows = [(str(level), str(count)) for level, count in scatter.counts.items()]
        return Table("How far values are apart", (scatter.unit, "values"), rows, frozenset({0, 1}))
    points = sorted(scatter.points, key=lambda point: -abs(point.candidate - point.reference))[:LISTED]
    lines = [
        (p.image, p.name, f"{p.reference:g}", f"{p.candidate:g}", f"{p.candidate - p.reference:+.3g}") for p in points
    ]
    heads = (noun, "what", "PyTorch", "backend", "difference")
    caption = f"The {len(points)} largest differences" if len(points) < len(scatter.points) else "All differences"
    return Table(caption, heads, lines, frozenset({2, 3, 4}))
