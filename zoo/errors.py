"""The errors that a user can cause or must know of. Each carries the exit code of the command line (torch-free)."""

from collections.abc import Iterable, Mapping
from typing import Any


class ZooportError(Exception):
    """Base of all zooport errors: one line that says what, where, got, expected and how to fix it."""

    exit_code = 1
    data: Mapping[str, Any] = {}
    """What --json writes beside the message."""


class InputError(ZooportError):
    """Wrong usage or input: a config, a flag, an image, a checkpoint, a file that cannot be read or written."""

    exit_code = 2


class GateError(ZooportError):
    """A gate was missed: what was compared is not the same model."""

    exit_code = 3


class BackendUnavailableError(ZooportError):
    """A backend, provider or library is not on this machine."""

    exit_code = 4


class LibraryMissingError(BackendUnavailableError):
    """A library of an extra is not installed."""

    data: Mapping[str, Any] = {"library_missing": True}


class ExportError(ZooportError):
    """The exporter or the backend refused the model."""

    exit_code = 5


class SomeInputsFailedError(ZooportError):
    """Some inputs of many could not be read or computed; the others are done."""

    exit_code = 6


def nearest(name: str, known: Iterable[str], count: int = 3) -> str:
    """Words for an error message: the known names that are nearest to a wrong one, quoted, best first.

    >>> nearest("onnxruntim", ["onnxruntime", "pytorch"])
    'nearest: "onnxruntime", "pytorch"'
    >>> nearest("onnxruntim", [])
    'there are none'
    """
    import difflib  # a millisecond that a production start without an error need not pay

    ranked = difflib.get_close_matches(name, list(known), n=count, cutoff=0.0)
    if not ranked:
        return "there are none"
    return "nearest: " + ", ".join(f'"{candidate}"' for candidate in ranked)
