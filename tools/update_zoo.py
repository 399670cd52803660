"""Measure the zoo's models for their cards, and write the tables of README.md and docs/zoo.md from these."""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.errors import GateError, InputError, LibraryMissingError, nearest
from zoo.files.writing import write_whole
from zooport.parser import Parser
from zooport.running import run_tool
from zooport.terminal import LOAD, open_console, show_counts

if TYPE_CHECKING:
    from rich.console import Console

EXAMPLES = """examples:
  python tools/update_zoo.py
  python tools/update_zoo.py configs/detection/faster-rcnn_r18-fpn_digits.py
  python tools/update_zoo.py --check

It runs in the root of the repository. What was measured is kept in zoo/cards/measured as soon as it is.

Code 3: a model misses its gate (its card stays as it is) or, with --check, something is stale."""


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="update_zoo.py", description=__doc__, epilog=EXAMPLES)
    flags.add_argument(
        "configs",
        nargs="*",
        metavar="CONFIG",
        help="what to measure; default: all that is stale; weights that are not shipped only here",
    )
    flags.add_argument("--check", action="store_true", help="measure and write nothing: say what is stale")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Measure and write, or only check; the same as data."""
    from zoo.cards import pages, problems, read_card
    from zoo.listing import list_models

    console = open_console()
    paths = list_models("configs")  # this folder's: cards and pages have their paths
    if not paths:
        raise InputError("no configs/ in this folder; run this in the root of the repository")
    if options.check and options.configs:
        raise InputError("--check looks at all configs; leave out CONFIG")
    named = [member(path, paths) for path in options.configs]
    cards = [read_card(path) for path in paths]
    if options.check:
        check(problems(cards))
        console.print("nothing is stale")
        return {"stale": []}
    pages(cards)  # before the long work: are the pages there?
    chosen = named or [card.config for card in cards if card.problem]
    measured = []
    for number, path in enumerate(chosen, 1):
        console.print(f"{number}/{len(chosen)} {path}", highlight=False, soft_wrap=True)
        try:
            measure(console, path)
            measured.append(path)
        except LibraryMissingError as error:
            if named:
                raise
            console.print(f"{path} is left out: {error}", highlight=False, soft_wrap=True)
    cards = [read_card(path) for path in paths]
    written = [str(page) for page, text in pages(cards).items() if changed(page, text)]
    left = problems(cards)
    for line in (*(f"{page} was written" for page in written), *left):
        console.print(line, highlight=False, soft_wrap=True)
    if not (chosen or written or left):
        console.print("nothing is stale")
    return {"measured": measured, "pages": written, "stale": left}


def member(path: str, known: Sequence[str]) -> str:
    """The config as the zoo lists it. Raises InputError where it is not of the zoo."""
    for config in known:
        if Path(config).resolve() == Path(path).resolve():
            return config
    raise InputError(f"config {path} is not under configs/; {nearest(path, known)}")


def check(problems: Sequence[str]) -> None:
    """Raises GateError with all that is stale."""
    if problems:
        error = GateError("; ".join(problems))
        error.data = {"stale": list(problems)}
        raise error


def changed(page: Path, text: str) -> bool:
    """Write a page where it reads otherwise; whether it did."""
    if page.read_text(encoding="utf-8") == text:
        return False
    write_whole(page, text)
    return True


def measure(console: "Console", path: str) -> None:
    """Measure a config, and write the measured part of its card."""
    from zoo.config import load_config

    with show_counts(console, load_config(path).task.kind.plural) as (step, count):
        step(LOAD)
        from pipeline.measure_card import measure_card
        from zoo.cards import measured_file

        measured = measure_card(path, count, step)
    text = json.dumps(measured.to_dict(), indent=2, sort_keys=True) + "\n"
    write_whole(measured_file(path), text, make_folders=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code."""
    return run_tool(parser(), run, arguments)


if __name__ == "__main__":
    sys.exit(main())
