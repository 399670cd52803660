"""NVIDIA's library behind a backend: the one place that imports it."""

import re
from types import ModuleType

from backends.registry import get_backend
from zoo.errors import BackendUnavailableError

OLDEST = {"tensorrt": (10, 12), "tensorrt-rtx": (1, 4)}


def library(backend: str) -> ModuleType:
    """The module of `backend`, "tensorrt" or "tensorrt-rtx".

    Raises BackendUnavailableError where it is not installed, cannot be imported, or is too old.
    """
    module = get_backend(backend).import_library()
    version = getattr(module, "__version__", "without a version")
    if version_numbers(version)[:2] < OLDEST[backend]:
        oldest = ".".join(map(str, OLDEST[backend]))
        raise BackendUnavailableError(
            f"backend {backend} is not available: got {module.__name__} {version}, expected {oldest} or later; "
            f"{get_backend(backend).install}"
        )
    return module


def version_numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, to compare it by.

    >>> version_numbers("11.4.0.106")
    (11, 4, 0, 106)
    """
    return tuple(int(number) for number in re.findall(r"\d+", version))
