"""Completion on the Tab key, by argcomplete: the shell asks `zooport` itself (see zooport.commands.completion)."""

import argparse
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from argcomplete import autocomplete
from argcomplete.completers import FilesCompleter

from backends.registry import backends
from zoo.config.names import SUFFIX, config_names
from zoo.target import CHOICES, DEFAULT_LAYOUT
from zoo.tasks import known_tasks
from zooport.verbs import VERBS, Verb, verb_module

SKIPPED = "_ARGCOMPLETE"  # argcomplete's: where in the line the arguments begin
CONFIGS = ("config", "configs", "subject")  # arguments that are configs
Names = Callable[[], Sequence[str]]


def _layouts() -> list[str]:
    """Those of the registered families, which need torch."""
    from zoo.families import layouts

    return [DEFAULT_LAYOUT, *layouts()]


NAMES: Mapping[str, Names] = {
    "backend": lambda: list(backends()),
    "task": lambda: list(known_tasks()),
    "layout": _layouts,
    "output_level": lambda: CHOICES["level"],
    **{name: partial(CHOICES.__getitem__, name) for name in CHOICES},
}
"""What an argument may be, by its name in the options."""


def complete() -> None:
    """Answers the shell, and ends the process."""
    line = os.environ["COMP_LINE"][: int(os.environ["COMP_POINT"])]
    first, *others = [*line.split()[1:], *([""] if line.endswith(" ") else [])] or [""]
    if others and first in VERBS:
        os.environ[SKIPPED] = str(int(os.environ[SKIPPED]) + 1)  # the verb is no argument
        autocomplete(_parser(VERBS[first]), always_complete_options="long")
    verbs = argparse.ArgumentParser(prog="zooport")
    verbs.add_argument("verb", choices=tuple(VERBS))
    autocomplete(verbs, always_complete_options="long")


def _parser(verb: Verb) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = verb_module(verb).parser()
    for action in parser._actions:  # noqa: SLF001  # argcomplete reads them, too, and takes the attribute from them
        if action.dest in CONFIGS:
            action.completer = _configs  # type: ignore[attr-defined]
        elif action.dest in NAMES:
            action.completer = _named(NAMES[action.dest])  # type: ignore[attr-defined]
    return parser


def _configs(prefix: str, **_asked: object) -> list[str]:
    """Names of shipped configs, and Python files from here."""
    files = FilesCompleter([SUFFIX.removeprefix(".")])(prefix)
    return [*(name for name in config_names() if name.startswith(prefix)), *files]


def _named(names: Names) -> Callable[..., list[str]]:
    return lambda prefix, **_asked: [name for name in names() if name.startswith(prefix)]
