"""A table on the terminal: rich's where it is installed, aligned columns where only the core is."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zooport.terminal import PlainConsole

if TYPE_CHECKING:
    from rich.console import Console


def print_table(
    console: "Console | PlainConsole", heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str]
) -> None:
    """Columns named in ``left`` hold text; the others hold numbers, which are aligned to the right."""
    if isinstance(console, PlainConsole):
        for line in _aligned(heads, rows, left):
            console.print(line)
        return
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for head in heads:
        table.add_column(head, justify="left" if head in left else "right", overflow="fold")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def _aligned(heads: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[str]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(heads, *rows, strict=True)]
    return [
        "  ".join(
            cell.ljust(width) if head in left else cell.rjust(width)
            for head, cell, width in zip(heads, row, widths, strict=True)
        ).rstrip()
        for row in (heads, *rows)
    ]
