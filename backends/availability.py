"""Which backends this machine has."""

from backends.registry import backends, get_backend
from zoo.errors import BackendUnavailableError


def available() -> dict[str, str | None]:
    """Each backend's name -> None where it can be used here, else the reason and what to install.

    Looks for the libraries and imports none of them. Of a backend whose build and run need different things it says
    whether graphs can be built; whether they can run says Backend.can_run.
    """
    return {name: backend.lack() for name, backend in backends().items()}


def require(backend: str) -> None:
    """Raise unless `backend` can be used here: InputError for no backend's name, else BackendUnavailableError.

    Imports its library.
    """
    lack = get_backend(backend).lack()
    if lack is not None:
        here = ", ".join(name for name, reason in available().items() if reason is None) or "none"
        raise BackendUnavailableError(f"backend {backend} is not available: {lack} (available here: {here})")
    get_backend(backend).import_library()
