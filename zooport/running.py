"""Running a verb: one line for a user's mistake, its exit code, what --json writes, signals, quiet libraries."""

import argparse
import contextlib
import json
import logging
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from types import FrameType
from typing import Any, NoReturn

from zoo.errors import InputError, ZooportError
from zoo.files.writing import write_whole
from zoo.notices import heard
from zoo.own_code import place_of, reason_of
from zoo.printable import printable
from zooport.exit_codes import GOOD, INTERRUPTED, OUR_FAULT, UNAVAILABLE, USER_ERROR
from zooport.parser import Parser
from zooport.standard_output import UNREAD, drop_output, drop_unwritable
from zooport.writable import check_writable

STANDARD_OUTPUT = Path("-")  # of --json
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
        *("PIL", "argcomplete", "bokeh", "jinja2", "packaging", "pycocotools", "rich"),
    ),
    "zooport[evaluate]": ("skimage", "yaml"),
    "zooport[train]": ("sklearn", "matplotlib"),
}


class _PrintableFormatter(logging.Formatter):
    """Lines of a log, names in them literal."""

    def format(self, record: logging.LogRecord) -> str:
        """The lines of a record, as `printable` has them."""
        return "\n".join(map(printable, super().format(record).split("\n")))


def run_tool(
    parser: Parser, body: Callable[[argparse.Namespace], Mapping[str, Any]], arguments: Sequence[str] | None
) -> int:
    """Parse the arguments and run ``body``, which gives what ``--json`` writes; the exit code.

    The ``data`` of an error is written, too (see with_data); its notes (PEP 678) end the message, so that the body can
    say what is true of what it was doing.
    """
    if isinstance(sys.stdout, TextIOWrapper):  # a name that the terminal has no characters for ends no work
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        options = parser.parse_args(arguments)
    except SystemExit as stop:
        return int(stop.code or 0)
    warned: list[str] = []
    try:
        with _terminable(), _quiet(verbose=options.verbose), _noticed(warned, quiet=options.quiet):
            _check_json(options.json)
            with _screen(options):
                content = body(options)
            _write_json(options.json, {"exit_code": GOOD, **content}, warned)
            sys.stdout.flush()
    except KeyboardInterrupt as error:
        return _report(_noted("interrupted", error), INTERRUPTED, options, data_of(error), warned)
    except (ZooportError, OSError) as error:
        message = str(error)
        if isinstance(error, BrokenPipeError):
            drop_output()
            message = UNREAD
        drop_unwritable()
        code = getattr(error, "exit_code", USER_ERROR)
        return _report(_noted(message, error), code, options, data_of(error), warned)
    except BaseException as error:  # noqa: BLE001 - the last line of defence, also against an exit that nobody asked for
        return _unforeseen(error, options, warned)
    return GOOD


def with_data(error: BaseException, data: Mapping[str, Any]) -> None:
    """Have ``data`` written beside the message of any error, also of one that is not zooport's."""
    error.__dict__["data"] = data


def data_of(error: BaseException) -> Mapping[str, Any]:
    """What is written beside its message."""
    data: Mapping[str, Any] = getattr(error, "data", {})
    return data


def _noted(message: str, error: BaseException) -> str:
    return "; ".join([message, *getattr(error, "__notes__", ())])


def _unforeseen(error: BaseException, options: argparse.Namespace, warned: Sequence[str]) -> int:
    """A library that is not there, else a fault of the user's own model, data set or metric, else one of ours."""
    if isinstance(error, ImportError) and (lack := _lack(error)):
        return _report(_noted(lack, error), UNAVAILABLE, options, data_of(error), warned)
    if place_of(error) is not None:
        what = "your code ends the program" if isinstance(error, SystemExit) else "your code fails"
        message = f"{what}: {reason_of(error)}; correct it, -v shows the calls"
        return _report(_noted(message, error), USER_ERROR, options, data_of(error), warned)
    _show_traceback()
    options.verbose = False
    fault = f"this is a fault of zooport, not yours: {type(error).__name__}: {error}"
    return _report(_noted(fault, error), OUR_FAULT, options, data_of(error), warned)


def _lack(error: ImportError) -> str | None:
    """What to install, where the module is of a library that zooport needs; None for a name that a module lacks."""
    if isinstance(error, ModuleNotFoundError):
        library = (error.name or "").partition(".")[0]
        package = _package(library)
        return package and f'{library} is not installed, and this needs it: pip install "{package}"'
    path = Path(error.path or "")
    library = next((part for part in reversed(path.parts) if _package(part)), "")
    if path.suffix == ".py" or not library:
        return None
    reason = " ".join(str(error).split())  # a compiled module's: what it is linked with is not there or does not fit
    return (
        f"{library} is installed, but cannot be imported ({reason}); install it again: pip install --force-reinstall "
        f'"{_package(library)}"'
    )


def _package(library: str) -> str | None:
    return next((package for package, names in LIBRARIES.items() if library in names), None)


def _report(
    message: str, code: int, options: argparse.Namespace, data: Mapping[str, Any], warned: Sequence[str]
) -> int:
    if options.verbose:
        _show_traceback()
    print(printable(f"error: {message}" if code != INTERRUPTED else message), file=sys.stderr)
    with contextlib.suppress(InputError):  # one error is enough
        _write_json(options.json, {"exit_code": code, "error": message, **data}, warned)
    return code


def _show_traceback() -> None:
    for line in traceback.format_exc().rstrip("\n").split("\n"):
        print(printable(line), file=sys.stderr)


def _check_json(path: Path | None) -> None:
    """Before the long work: can the file be written?"""
    if path is None or path == STANDARD_OUTPUT:
        return
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise InputError(f"--json {path}: not a file in an existing folder; give one")
    if path.exists() and not path.is_file():  # a pipe, or a device
        return
    check_writable(path.absolute().parent, f"--json {path}", "give another file")


def _write_json(path: Path | None, content: Mapping[str, Any], warned: Sequence[str]) -> None:
    if path is None:
        return
    if warned:
        content = {**content, "warnings": list(warned)}
    text = json.dumps(content, indent=2, sort_keys=True) + "\n"
    if path == STANDARD_OUTPUT:
        sys.stdout.write(text)
        return
    try:
        if path.exists() and not path.is_file():  # a pipe, or a device: nothing to replace
            path.write_text(text, encoding="utf-8")
        else:
            write_whole(path.resolve(), text)  # the file itself, where the name is a link
    except OSError as error:
        raise InputError(f"--json {path}: cannot be written ({error.strerror})") from error


@contextmanager
def _screen(options: argparse.Namespace) -> Iterator[None]:
    """Where what is printed goes: nowhere with --quiet, beside the data with --json -."""
    if options.quiet:
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere, contextlib.redirect_stdout(nowhere):
            yield
    elif options.json == STANDARD_OUTPUT:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    else:
        yield


@contextmanager
def _terminable() -> Iterator[None]:
    """SIGTERM, and the end of a terminal's session, end the work as Ctrl-C does: what is half written is removed."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    heeded = [number for number in ENDING if signal.getsignal(number) != signal.SIG_IGN]  # nohup has SIGHUP ignored
    before = {number: signal.signal(number, _interrupt) for number in heeded}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(_number: int, _frame: FrameType | None) -> NoReturn:
    raise KeyboardInterrupt


@contextmanager
def _noticed(warned: list[str], *, quiet: bool) -> Iterator[None]:
    """Notices go to standard error, each once, and into `warned`."""

    def warn(message: str) -> None:
        if message in warned:
            return
        warned.append(message)
        if not quiet:
            with contextlib.suppress(OSError):  # a notice ends no work
                print(printable(f"warning: {message}"), file=sys.stderr)

    with heard(warn):
        yield


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
