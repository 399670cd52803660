"""The data of a scatter plot or a histogram as a table, for those who do not see the plot."""

from pipeline.report.table import Table
from zoo.tasks.scatter import Histogram, Scatter

LISTED = 100  # rows of a table that stands for a plot


def scatter_table(found: Scatter | Histogram) -> Table:
    """The same as a table: the points that are furthest apart, or how many values are how far apart."""
    if isinstance(found, Histogram):
        rows = [(str(level), str(count)) for level, count in found.counts.items()]
        return Table("How far values are apart", (found.unit, "values"), rows, frozenset({0, 1}))
    points = sorted(found.points, key=lambda point: -abs(point.candidate - point.reference))[:LISTED]
    lines = [
        (p.image, p.name, f"{p.reference:g}", f"{p.candidate:g}", f"{p.candidate - p.reference:+.3g}") for p in points
    ]
    heads = ("image", "what", "PyTorch", "backend", "difference")
    caption = f"The {len(points)} largest differences" if len(points) < len(found.points) else "All differences"
    return Table(caption, heads, lines, frozenset({2, 3, 4}))
