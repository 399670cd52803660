"""Which backends this machine has."""

import importlib.util

from zoo.errors import BackendUnavailableError, InputError, nearest
from zoo.target import BACKENDS

NEEDS = {
    "onnxruntime": ("onnxruntime", "pip install onnxruntime"),
    "pytorch": ("torch", 'pip install "zooport[export]"'),
    "tensorrt": ("tensorrt", 'pip install "zooport[tensorrt]"'),
    "tensorrt-rtx": ("tensorrt_rtx", 'pip install "zooport[tensorrt-rtx]"'),
}
"""Backend -> the module that it takes, and what installs it."""


def available() -> dict[str, str | None]:
    """Each backend's name -> None where it can be used here, else the reason and what to install.

    Looks for the libraries and imports none of them. Of tensorrt and tensorrt-rtx it says whether engines can be built;
    whether they can run, which takes a GPU, says backends.tensorrt.running.can_run.
    """
    return {backend: _lack(backend) for backend in BACKENDS}


def require(backend: str) -> None:
    """Raise unless `backend` can be used here: InputError for no backend's name, else BackendUnavailableError."""
    if backend not in BACKENDS:
        raise InputError(f'unknown backend "{backend}"; {nearest(backend, BACKENDS)}')
    lack = _lack(backend)
    if lack is not None:
        here = ", ".join(name for name, reason in available().items() if reason is None) or "none"
        raise BackendUnavailableError(f"backend {backend} is not available: {lack} (available here: {here})")


def _lack(backend: str) -> str | None:
    library, remedy = NEEDS[backend]
    try:
        found = importlib.util.find_spec(library) is not None
    except (ImportError, ValueError):  # an import hook refuses it, or a stand-in without a spec is loaded
        found = False
    return None if found else f"{library} is not installed; {remedy}"
