"""The check of what `load` is given, before anything is opened."""

import os
import re

from backends.engine_options import EngineOptions
from zoo.errors import InputError
from zoo.manifest_schema import MAX_THREADS

AUTO = "auto"  # workers: as many as CPUs
DEVICE_NUMBER = re.compile(r"[0-9]{1,3}")


def check_path(path: object) -> None:
    """Raises InputError for what is no path."""
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise InputError(f"load: path is {path!r}, expected a string or a pathlib.Path")
    if "\0" in os.fspath(path):
        raise InputError(f"load: path is {os.fspath(path)!r}, which has a NUL character; give a folder's path")


def check_threads(threads: object) -> None:
    """Raises InputError for what is no number of threads, and None is one."""
    _check_count("threads", threads, "all CPUs that this process may use")


def _check_count(name: str, count: object, none: str) -> None:
    """`none`: what None stands for."""
    is_number = isinstance(count, int) and not isinstance(count, bool)
    if count is not None and not (is_number and 1 <= count <= MAX_THREADS):  # type: ignore[operator]  # it is one
        raise InputError(
            f"{name}={_format_value(count)}: expected an integer from 1 to {MAX_THREADS}, or None for {none}"
        )


def check_options(
    provider: object,
    threads: object,
    progress: object,
    engine: object,
    cuda_graph: object,
    check: object,
    cache: object,
    workers: object,
    spin: object,
) -> None:
    """Raises InputError for an option of `load` that is of the wrong type or out of its bounds; names come later."""
    number = provider.partition(":")[2] if isinstance(provider, str) else ""
    if not isinstance(provider, str | None) or (number.isdecimal() and not DEVICE_NUMBER.fullmatch(number)):
        raise InputError(
            f'load: provider is {_format_value(provider)}, expected a name such as "cpu", "cuda" or "cuda:1"'
        )
    check_threads(threads)
    if workers != AUTO:
        _check_count("workers", workers, f'no pool of them, or "{AUTO}" for one for each CPU')
    if progress is not None and workers is not None:
        raise InputError("load: progress with workers, which cut several images at once; leave out one of them")
    if progress is not None and not callable(progress):
        raise InputError(
            f"load: progress is {_format_value(progress)}, expected a function of (what, windows done, windows)"
        )
    if engine is not None and not isinstance(engine, EngineOptions):
        raise InputError(
            f"load: engine is {_format_value(engine)}, expected backends.engine_options.EngineOptions(...)"
        )
    if cache is not None and not isinstance(cache, str | os.PathLike):
        raise InputError(f"load: cache is {_format_value(cache)}, expected a folder's path, or None")
    for name, value in (("cuda_graph", cuda_graph), ("check", check), ("spin", spin)):
        if not isinstance(value, bool):
            raise InputError(f"load: {name} is {_format_value(value)}, expected True or False")


def _format_value(value: object) -> str:
    try:
        return repr(value)
    except ValueError:  # Python prints no number of more than some thousand digits
        return f"a very large {type(value).__name__}"
