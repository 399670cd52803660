"""What tools show while they work: a moving bar on a terminal, plain lines in a file or a pipe."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 120  # of what is printed into a file or a pipe
PAUSE = 5.0  # seconds between two lines about the same work
Step = Callable[[str], None]
Count = Callable[[str, int, int], None]


def open_console() -> "Console":
    """Standard output. rich is loaded here, so that no --help and no wrong flag waits for it."""
    from rich.console import Console

    return Console() if sys.stdout.isatty() else Console(width=PLAIN_WIDTH)


@contextmanager
def show_steps(console: "Console", names: Sequence[str]) -> Iterator[Step]:
    """A function to call with each of the steps as it begins, and meanwhile with how far it is."""
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    start = time.monotonic()
    if not console.is_terminal:
        shown = start

        def line(name: str) -> None:
            nonlocal shown
            now = time.monotonic()
            if name in names:
                console.print(f"{names.index(name) + 1}/{len(names)} {name} ({now - start:.1f} s)", highlight=False)
            elif now - shown < PAUSE:
                return
            else:
                console.print(f"    {name}", highlight=False)
            shown = now

        yield line
        return
    columns = (SpinnerColumn(), TextColumn("{task.completed}/{task.total} {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True) as bar:
        row = bar.add_task("", total=len(names))
        current = ""

        def update(name: str) -> None:
            nonlocal current
            if name in names:
                current = name
                bar.update(row, completed=names.index(name) + 1, description=name)
            else:
                bar.update(row, description=f"{current}: {name}")

        yield update


@contextmanager
def show_counts(console: "Console", unit: str = "images") -> Iterator[tuple[Step, Count]]:
    """Functions to call with a step as it begins, and with (what, done, all) of a unit of work as it is done.

    A terminal shows the time that is left; elsewhere a line comes every few seconds.
    """
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeRemainingColumn

    if not console.is_terminal:
        lines = _Lines(console, unit)
        yield lines.step, lines.count
        return
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        row = bar.add_task("", total=None)
        described = ""

        def count(name: str, done: int, total: int) -> None:
            nonlocal described
            if name != described:  # a bar of its own for each, so that the time left is that of this work
                bar.reset(row, total=total, description=name)
                described = name
            bar.update(row, completed=done)

        yield lambda name: bar.reset(row, total=None, description=name), count


class _Lines:
    """The same as plain lines."""

    def __init__(self, console: "Console", unit: str) -> None:
        self.console = console
        self.unit = unit
        self.name = ""
        self.start = self.shown = 0.0

    def step(self, name: str) -> None:
        """A line for each step."""
        self.console.print(name, highlight=False)

    def count(self, name: str, done: int, total: int) -> None:
        """A line when the work begins and ends, and every PAUSE seconds between."""
        now = time.monotonic()
        if name != self.name:
            self.name, self.start, self.shown = name, now, 0.0
        if not done or (done < total and now - self.shown < PAUSE):
            return
        self.shown = now
        took = now - self.start
        left = f"{took:.0f} s" if done == total else f"about {took / done * (total - done):.0f} s left"
        self.console.print(f"{name}: {done}/{total} {self.unit}, {left}", highlight=False)
