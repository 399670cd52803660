"""The flags of a verb: one line for what cannot be parsed, and the flags that all verbs share.

argparse and this class, rather than a library for command lines: errors name the nearest flag, in one line.
"""

import argparse
import ast
import sys
from collections.abc import Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, NoReturn

from backends.registry import backends
from zoo.errors import InputError, nearest
from zoo.printable import printable
from zoo.target import DEFAULT_BACKEND, REFERENCE_BACKEND
from zooport.exit_codes import USER_ERROR, format_exit_codes


def literal_or_text(text: str) -> Any:
    """A number, a list, True or None as Python writes them; anything else is the text itself."""
    try:
        return ast.literal_eval(text)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return text


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line; an unknown flag names the nearest ones. Exit code 2.

    ``epilog``: the examples; the table of exit codes follows it. ``intermixed``: whether several positional arguments
    may have flags between them.
    """

    def __init__(self, *, epilog: str, intermixed: bool = False, **options: Any) -> None:
        self._intermixed = intermixed
        super().__init__(
            allow_abbrev=False,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            epilog=f"{epilog}\n\n{format_exit_codes()}",
            **options,
        )

    def add_shared(self) -> None:
        """The flags that every verb has; called last, so that help lists them last."""
        loudness = self.add_mutually_exclusive_group()
        loudness.add_argument("-q", "--quiet", action="store_true", help="print only errors")
        loudness.add_argument(
            "-v", "--verbose", action="store_true", help="show the log, library warnings and tracebacks"
        )
        self.add_argument(
            "--json",
            type=Path,
            metavar="FILE",
            help="write the results to FILE as data; -: to standard output, with the printed text on standard error",
        )

    def add_backend(self) -> None:
        """The flag --backend, with the names of those there are."""
        others = ", ".join(name for name in backends() if name not in (DEFAULT_BACKEND, REFERENCE_BACKEND))
        self.add_argument("--backend", metavar="B", help=f"{DEFAULT_BACKEND} (default), {others}")

    def add_calibration_image(self) -> None:
        """The flag of those that make fp16 or int8."""
        self.add_argument(
            "--calibration-image",
            nargs="+",
            action="extend",
            default=[],
            metavar="F",
            help="images, or folders of images, instead of the config's calibration_dataset",
        )

    def add_reference_results(self) -> None:
        """The flag of those that run PyTorch on a data set."""
        self.add_argument(
            "--reference-results",
            type=Path,
            metavar="D",
            help="keep PyTorch's results on the data set in folder D, and use those that are there already",
        )

    def parse_args(  # type: ignore[override]  # one of its two overloads is enough here
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """As argparse does it, but an unknown flag comes before what is missing."""
        arguments = sys.argv[1:] if args is None else args
        for argument in takewhile(lambda text: text != "--", arguments):
            if argument.startswith("--") and argument.partition("=")[0] not in self._option_string_actions:
                self._unknown(argument)
        parse = self.parse_known_intermixed_args if self._intermixed else self.parse_known_args
        options, unknown = parse(arguments, namespace)
        if unknown:
            self._unknown(unknown[0])
        return options

    def _unknown(self, argument: str) -> NoReturn:
        flags = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
        hint = f"; {nearest(argument.partition('=')[0], flags)}" if argument.startswith("-") else ""
        self.error(f"unknown argument {argument}{hint}")

    def error(self, message: str) -> NoReturn:
        """One line on stderr."""
        self.exit(USER_ERROR, printable(f"error: {message}; see {self.prog} --help") + "\n")


def flag_of(name: str) -> str:
    """The flag whose value argparse keeps under this name."""
    return f"--{name.replace('_', '-')}"


def check_counts(options: argparse.Namespace, *names: str, most: int | None = None) -> None:
    """`names`: of options, see `flag_of`. Raises InputError for one that is given, and below 1 or above `most`."""
    expected = "1 or more" if most is None else f"1 to {most}"
    for name in names:
        value = getattr(options, name)
        if value is not None and (value < 1 or (most is not None and value > most)):
            raise InputError(f"{flag_of(name)} {value}: expected {expected}")
