"""A figure of parity as words, the same on the terminal and in the report."""

from pipeline.report.formatting import format_error, format_share
from zoo.comparison import Figure


def figure_row(figure: Figure) -> dict[str, str]:
    """The cells of its row by their column; empty where there is nothing to say."""
    return {
        "name": figure.name,
        "unit": figure.unit,
        "largest": format_error(figure.max_error),
        "mean": format_error(figure.mean_error),
        "cosine": "" if figure.cosine is None else f"{figure.cosine:.9f}",
        "gate": "" if figure.gate is None else f"{figure.gate:g}",
        "share": format_share(figure.max_error, figure.gate),
        "verdict": "" if figure.gate is None else ("passed" if figure.passed else "missed"),
    }
