"""List the models of the zoo, with their cost and the metric measured on each backend."""

import argparse
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zoo.errors import InputError, nearest
from zoo.shipped import CONFIGS
from zooport.parser import Parser
from zooport.terminal import open_console

if TYPE_CHECKING:
    from zoo.cards import Card

EXAMPLES = """examples:
  zooport list
  zooport list --task semantic-segmentation --name 'fcn*' --json zoo.json

Parameters are in millions, and GFLOPs of one input count a multiply-add as two. Metrics are in points (PSNR in dB), on
each config's data set."""
PLAIN_WIDTH = 160  # of what is printed into a file or a pipe: a row has a line or two
NUMBERS = ("parameters (M)", "GFLOPs", "input")


def parser() -> Parser:
    """The flags."""
    flags = Parser(prog="zooport list", description=__doc__, epilog=EXAMPLES)
    flags.add_argument("--task", metavar="T", help="list only the models of this task, for example detection")
    flags.add_argument(
        "--name", metavar="PATTERN", help="list only matching names: a part of the name, or a pattern with * and ?"
    )
    flags.add_argument("--configs", type=Path, default=CONFIGS, metavar="D", help="default: those of zooport")
    flags.add_shared()
    return flags


def run(options: argparse.Namespace) -> Mapping[str, Any]:
    """Print the table, and give the same as data."""
    cards, faults = chosen(options)
    if cards:
        show(cards)
    content = {"models": [card.to_dict() for card in cards]}
    if faults:
        error = InputError("; ".join(faults))
        error.data = content
        raise error
    return content


def chosen(options: argparse.Namespace) -> tuple[list["Card"], list[str]]:
    """The cards of the models that the flags ask for, and what is wrong with configs that cannot be read.

    Raises InputError where there are neither, or no such task.
    """
    from zoo.cards import read_card
    from zoo.listing import list_models
    from zoo.tasks import known_tasks

    if options.task is not None and options.task not in known_tasks():
        raise InputError(f'--task: unknown task "{options.task}"; {nearest(options.task, known_tasks())}')
    paths = list_models(options.configs)
    if not paths:
        raise InputError(f"--configs {options.configs}: no configs in there; give a folder that has some")
    named = [path for path in paths if options.name is None or matches(Path(path).stem, options.name)]
    if not named:
        raise InputError(
            f'--name "{options.name}": no such model; {nearest(options.name, [Path(p).stem for p in paths])}'
        )
    cards: list[Card] = []
    faults = []
    for path in named:
        try:
            cards.append(read_card(path))
        except InputError as error:
            faults.append(str(error))
    cards_of_task = [card for card in cards if options.task in (None, card.task)]
    if not cards_of_task and not faults:
        tasks = ", ".join(sorted({card.task for card in cards}))
        raise InputError(f"none of {len(named)} models is of task {options.task}; there is {tasks}")
    return cards_of_task, faults


def matches(name: str, pattern: str) -> bool:
    """Whether a name is like a pattern, in whatever case; one without * ? [ may stand anywhere in the name."""
    name, pattern = name.lower(), pattern.lower()
    return fnmatchcase(name, pattern if any(sign in pattern for sign in "*?[") else f"*{pattern}*")


def show(cards: Sequence["Card"]) -> None:
    """The table, and what is wrong with it."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    from zoo.cards import table

    console = open_console()
    if not console.is_terminal:
        console.width = PLAIN_WIDTH
    heads, rows = table(cards)
    shown = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    backends = heads[heads.index("metric") + 1 :]
    for head in heads:
        whole = head == heads[0] and not console.is_terminal  # names can be searched for in a file
        right = head in (*NUMBERS, *backends)
        shown.add_column(head, justify="right" if right else "left", overflow="fold", no_wrap=whole)
    for row in rows:
        shown.add_row(*row)
    console.print(shown)
    for problem in (card.problem for card in cards if card.problem):
        console.print(problem, soft_wrap=True, highlight=False)
