"""NVIDIA's library behind a backend: the one place that imports it."""

import importlib
import re
from types import ModuleType

from zoo.errors import BackendUnavailableError

MODULES = {"tensorrt": "tensorrt", "tensorrt-rtx": "tensorrt_rtx"}
"""Backend -> module. Both have the same API."""

OLDEST = {"tensorrt": (10, 12), "tensorrt-rtx": (1, 4)}


def library(backend: str) -> ModuleType:
    """The module of `backend`, "tensorrt" or "tensorrt-rtx".

    Raises BackendUnavailableError where it is not installed, cannot be imported, or is too old.
    """
    name = MODULES[backend]
    remedy = f'pip install "zooport[{backend}]"'
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise BackendUnavailableError(f"backend {backend} is not available: {name} lacks {error.name}") from error
        raise BackendUnavailableError(
            f"backend {backend} is not available: {name} is not installed; {remedy}"
        ) from error
    except (ImportError, OSError, RuntimeError) as error:  # its shared libraries are not there, or do not fit
        raise BackendUnavailableError(
            f"backend {backend} is not available: {name} is installed, but cannot be imported ({error})"
        ) from error
    if version_numbers(module.__version__)[:2] < OLDEST[backend]:
        raise BackendUnavailableError(
            f"backend {backend} is not available: got {name} {module.__version__}, expected "
            f"{'.'.join(map(str, OLDEST[backend]))} or later; {remedy}"
        )
    return module


def version_numbers(version: str) -> tuple[int, ...]:
    """The numbers of a version, to compare it by.

    >>> version_numbers("11.4.0.106")
    (11, 4, 0, 106)
    """
    return tuple(int(number) for number in re.findall(r"\d+", version))
