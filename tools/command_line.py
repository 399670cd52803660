"""What all tools share: one line for a user's mistake, exit codes, signals, quiet libraries."""

import argparse
import contextlib
import json
import logging
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from tempfile import TemporaryFile
from types import FrameType
from typing import Any, NoReturn

from backends.registry import backends
from zoo.errors import InputError, ZooportError, nearest
from zoo.printable import printable
from zoo.target import DEFAULT_BACKEND, REFERENCE_BACKEND

OUR_FAULT = 1
USER_ERROR = 2
UNAVAILABLE = 4
INTERRUPTED = 130
ENDING = (signal.SIGTERM, signal.SIGHUP)

# What each extra of pyproject.toml brings, by the names that Python imports.
LIBRARIES = {
    "zooport": ("cv2", "numpy", "onnxruntime"),
    "zooport[export]": (
        *(
            "torch",
            "torchvision",
            "onnx",
            "onnxscript",
            "onnx_graphsurgeon",
            "onnxslim",
            "mmengine",
            "safetensors",
            "scipy",
        ),
        *("PIL", "bokeh", "jinja2", "packaging", "rich"),
    ),
    "zooport[evaluate]": ("pycocotools", "skimage", "yaml"),
    "zooport[train]": ("sklearn", "matplotlib"),
}


class _PrintableFormatter(logging.Formatter):
    """Lines of a log, names in them literal."""

    def format(self, record: logging.LogRecord) -> str:
        """The lines of a record, as `printable` has them."""
        return "\n".join(map(printable, super().format(record).split("\n")))


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one line; an unknown flag names the nearest ones. Exit code 2."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def add_shared(self) -> None:
        """The flags that every tool has; called last, so that help lists them last."""
        self.add_argument("-v", "--verbose", action="store_true", help="show log, library warnings and tracebacks")
        self.add_argument("--json", type=Path, metavar="FILE", help="write what is printed to FILE as data")

    def add_backend(self) -> None:
        """The flag --backend, with the names of those there are."""
        others = ", ".join(name for name in backends() if name not in (DEFAULT_BACKEND, REFERENCE_BACKEND))
        self.add_argument("--backend", metavar="B", help=f"{DEFAULT_BACKEND} (default), or another: {others}")

    def add_calibration_image(self) -> None:
        """The flag of those that make fp16 or int8."""
        self.add_argument(
            "--calibration-image",
            nargs="+",
            action="extend",
            default=[],
            metavar="F",
            help="images, or folders of them, in place of the config's calibration_dataset",
        )

    def parse_args(  # type: ignore[override]  # one of its two overloads is enough here
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> argparse.Namespace:
        """As argparse does it."""
        options, unknown = self.parse_known_args(args, namespace)
        if unknown:
            flags = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
            hint = f"; {nearest(unknown[0].partition('=')[0], flags)}" if unknown[0].startswith("-") else ""
            self.error(f"unknown argument {unknown[0]}{hint}")
        return options

    def error(self, message: str) -> NoReturn:
        """One line on stderr."""
        self.exit(USER_ERROR, printable(f"error: {message}; see {self.prog} --help") + "\n")


def check_counts(options: argparse.Namespace, *names: str) -> None:
    """Raises InputError for a flag of these that is given, and below 1."""
    for name in names:
        value = getattr(options, name)
        if value is not None and value < 1:
            raise InputError(f"--{name} {value}: expected 1 or more")


def run_tool(
    parser: Parser, body: Callable[[argparse.Namespace], Mapping[str, Any]], arguments: Sequence[str] | None
) -> int:
    """Parse the arguments and run ``body``, which gives what ``--json`` writes; the exit code.

    An error with an attribute ``data`` (a mapping) has that written, too; its notes (PEP 678) end the message, so that
    the body can say what is true of what it was doing.
    """
    if isinstance(sys.stdout, TextIOWrapper):  # a name that the terminal has no characters for ends no work
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        options = parser.parse_args(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    try:
        with _terminable(), _quiet(verbose=options.verbose):
            _check_json(options.json)
            content = body(options)
            _write_json(options.json, {"exit_code": 0, **content})
    except KeyboardInterrupt as error:
        return _report(_noted("interrupted", error), INTERRUPTED, options)
    except (ZooportError, OSError) as error:
        code = getattr(error, "exit_code", USER_ERROR)
        return _report(_noted(str(error), error), code, options, getattr(error, "data", {}))
    except Exception as error:  # noqa: BLE001 - the last line of defence
        if isinstance(error, ModuleNotFoundError) and (missing := _missing(error)):
            return _report(_noted(missing, error), UNAVAILABLE, options)
        _show_traceback()
        options.verbose = False
        fault = f"this is a fault of zooport, not yours: {type(error).__name__}: {error}"
        return _report(_noted(fault, error), OUR_FAULT, options)
    return 0


def _noted(message: str, error: BaseException) -> str:
    return "; ".join([message, *getattr(error, "__notes__", ())])


def _missing(error: ModuleNotFoundError) -> str | None:
    """What to install, where the module is of a library that zooport needs."""
    library = (error.name or "").partition(".")[0]
    for package, names in LIBRARIES.items():
        if library in names:
            return f'{library} is not installed, and this needs it: pip install "{package}"'
    return None


def _report(message: str, code: int, options: argparse.Namespace, data: Mapping[str, Any] | None = None) -> int:
    if options.verbose:
        _show_traceback()
    print(printable(f"error: {message}" if code != INTERRUPTED else message), file=sys.stderr)
    with contextlib.suppress(InputError):  # one error is enough
        _write_json(options.json, {"exit_code": code, "error": message, **(data or {})})
    return code


def _show_traceback() -> None:
    for line in traceback.format_exc().rstrip("\n").split("\n"):
        print(printable(line), file=sys.stderr)


def _check_json(path: Path | None) -> None:
    """Before the long work: can the file be written?"""
    if path is None:
        return
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"--json {path}: not a file in an existing folder; give one")
    try:
        with TemporaryFile(dir=path.absolute().parent):
            pass
    except OSError as error:
        raise InputError(f"--json {path}: cannot be written ({error.strerror})") from error


def _write_json(path: Path | None, content: Mapping[str, Any]) -> None:
    if path is None:
        return
    try:
        path.write_text(json.dumps(content, indent=2, sort_keys=True) + "\n", encoding="utf-8")
    except OSError as error:
        raise InputError(f"--json {path}: cannot be written ({error.strerror})") from error


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM, and the end of a terminal's session, end the work as Ctrl-C does: what is half written is removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.signal(number, _interrupt) for number in ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


@contextmanager
def _quiet(*, verbose: bool) -> Iterator[None]:
    """Libraries' warnings and logs stay off the terminal; what matters of them is in the record."""
    if verbose:
        shown = logging.StreamHandler()
        shown.setFormatter(_PrintableFormatter("%(name)s: %(message)s"))
        logging.basicConfig(level=logging.INFO, handlers=[shown])
        yield
        return
    disabled = logging.root.manager.disable
    logging.disable(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(disabled)
