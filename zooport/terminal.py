"""What verbs show: lines and tables in which names are literal; a moving bar on a terminal, plain lines in a pipe."""

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NoReturn

from pipeline.base.steps import BeginStep
from zoo.printable import printable
from zoo.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console

PLAIN_WIDTH = 120  # of what is printed into a file or a pipe
PAUSE = 5.0  # seconds between two lines about the same work
LOAD = "load PyTorch"
"""The first step of a verb that needs it."""


def open_console() -> "Console":
    """Standard output. rich is loaded here, so that no --help and no wrong flag waits for it.

    What is printed may hold names from outside, so no string is markup, in tables neither, and each is one line, its
    control characters escaped; a style is an argument, or a Text of our own words.
    """
    from rich.console import Console
    from rich.text import Text

    class LiteralConsole(Console):
        def render_str(self, text: str, *arguments: Any, **options: Any) -> Text:
            return super().render_str(printable(text), *arguments, **options)

        def on_broken_pipe(self) -> NoReturn:
            raise BrokenPipeError  # rich's own would end the process with code 1 and no word

    width = None if sys.stdout.isatty() else PLAIN_WIDTH
    return LiteralConsole(width=width, markup=False, emoji=False)


class PlainConsole:
    """What verbs that a production machine runs need of rich's console, without rich."""

    is_terminal = False

    def print(self, *words: object, **_style: object) -> None:
        """A line of these words, names literal."""
        print(printable(" ".join(map(str, words))))


def open_light_console() -> "Console | PlainConsole":
    """Standard output: rich's console where rich is installed, plain lines where only the core is."""
    return PlainConsole() if find_spec("rich") is None else open_console()


def write_line(text: str) -> None:
    """A line on standard output, with names literal, for verbs that do not need rich."""
    print(printable(text))


def write_fault(text: str) -> None:
    """A line on standard error about one of many inputs, after which the work goes on."""
    print(printable(f"failed: {text}"), file=sys.stderr)


def show_progress(what: str, done: int, total: int) -> None:
    """One line on standard error that counts what is made."""
    print(f"\r{what}: {done}/{total}", end="\n" if done == total else "", file=sys.stderr, flush=True)


@contextmanager
def show_steps(console: "Console", names: Sequence[str]) -> Iterator[BeginStep]:
    """A function to call with each of the steps as it begins, and meanwhile with how far it is."""
    from rich.progress import Progress as Bar
    from rich.progress import SpinnerColumn, TextColumn, TimeElapsedColumn

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
    columns = (
        SpinnerColumn(),
        TextColumn("{task.completed}/{task.total} {task.description}", markup=False),
        TimeElapsedColumn(),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        row = bar.add_task("", total=len(names))
        current = ""

        def update(name: str) -> None:
            nonlocal current
            if name in names:
                current = name
                bar.update(row, completed=names.index(name) + 1, description=name)
            else:
                bar.update(row, description=printable(f"{current}: {name}"))

        yield update


@contextmanager
def show_counts(console: "Console | PlainConsole", unit: str) -> Iterator[tuple[BeginStep, Progress]]:
    """Functions to call with a step as it begins, and with (what, done, all) of a unit of work as it is done.

    A terminal shows the rate and the time that is left; elsewhere a line comes every few seconds. All of them are 0
    where nobody knows how many there are.
    """
    if isinstance(console, PlainConsole) or not console.is_terminal:
        lines = _Lines(console, unit)
        yield lines.step, lines.count
        return
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        ProgressColumn,
        SpinnerColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.progress import Progress as Bar
    from rich.text import Text

    class RateColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text("" if not task.speed else f"{task.speed:.1f} {unit}/s")

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Bar(*columns, console=console, transient=True) as bar:
        row = bar.add_task("", total=None)
        described = ""

        def count(name: str, done: int, total: int) -> None:
            nonlocal described
            if (work := _work(name)) != described:  # a bar of its own for each: the time left is that of this work
                bar.reset(row, total=total or None)
                described = work
            bar.update(row, completed=done, description=printable(name))

        yield lambda name: bar.reset(row, total=None, description=printable(name)), count


def _work(name: str) -> str:
    """What the name of a work begins with; behind a comma it says how the work goes."""
    return name.partition(",")[0]


class _Lines:
    """The same as plain lines."""

    def __init__(self, console: "Console | PlainConsole", unit: str) -> None:
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
        if (work := _work(name)) != self.name:
            self.name, self.start, self.shown = work, now, 0.0
        if not done or (done != total and now - self.shown < PAUSE):
            return
        self.shown = now
        took = now - self.start
        amount = f"{done}/{total}" if total else str(done)
        rate = f", {done / took:.1f}/s" if took else ""
        left = f"about {took / done * (total - done):.0f} s left" if done < total else f"{took:.0f} s"
        self.console.print(f"{name}: {amount} {self.unit}{rate}, {left}", highlight=False)
