"""Whether a target can be built on this machine; known without torch, before the long work."""

from backends.registry import get_backend
from pipeline.job.backend_options import no_options
from zoo.errors import InputError
from zoo.target import Target


def check_target(target: Target) -> None:
    """Whether the target can be built on this machine. Raises InputError and BackendUnavailableError."""
    backend = get_backend(target.backend)
    if target.precision != "fp32" and target.level == "plugin":
        raise InputError(
            f"precision {target.precision} at output level plugin: nothing here runs plugin nodes, so no range can be "
            "measured; give --output-level decoded or --precision fp32"
        )
    if target.engine is not None and backend.options is None:
        raise no_options(backend.name)
    if target.engine is not None and type(target.engine) is not backend.options:
        raise InputError(
            f"engine options with backend {backend.name}: got {type(target.engine).__name__}, expected "
            f"{backend.options and backend.options.__name__}"
        )
    backend.check_target(target)
