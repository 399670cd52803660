"""NVIDIA's library behind a backend: the one place that imports it."""

import importlib
import re
from types import ModuleType

from backends.registry import get_backend
from zoo.errors import BackendUnavailableError

OLDEST = {"tensorrt": (10, 12), "tensorrt-rtx": (1, 4)}


def library(backend: str) -> ModuleType:
    """The module of `backend`, "tensorrt" or "tensorrt-rtx".

    Raises BackendUnavailableError where it is not installed, cannot be imported, or is too old.
    """
    name, remedy = get_backend(backend).library, get_backend(backend).install
    unavailable = f"backend {backend} is not available:"
    try:
        module = importlib.import_module(name)
        version = module.__version__
    except ModuleNotFoundError as error:
        lack = f"is not installed; {remedy}" if error.name == name else f"lacks {error.name}; {remedy}"
        raise BackendUnavailableError(f"{unavailable} {name} {lack}") from error
    except Exception as error:  # its shared libraries are not there or do not fit, or it is half installed
        reason = " ".join(str(error).split())
        raise BackendUnavailableError(
            f"{unavailable} {name} is installed, but cannot be imported ({reason}); install it again: {remedy}"
        ) from error
    if version_numbers(version)[:2] < OLDEST[backend]:
        oldest = ".".join(map(str, OLDEST[backend]))
        raise BackendUnavailableError(f"{unavailable} got {name} {version}, expected {oldest} or later; {remedy}")
    return module


def version_numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, to compare it by.

    >>> version_numbers("11.4.0.106")
    (11, 4, 0, 106)
    """
    return tuple(int(number) for number in re.findall(r"\d+", version))
