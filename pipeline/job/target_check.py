"""Whether a target can be built on this machine; known without torch, before the long work."""

from backends.registry import backends, get_backend
from zoo.errors import InputError
from zoo.target import Target


def check_target(target: Target, default_target: Target) -> None:
    """Whether the target can be built on this machine.

    ``default_target``: the config's target. Its engine options are for backends that have them, and no fault elsewhere.
    Raises InputError and BackendUnavailableError.
    """
    backend = get_backend(target.backend)
    if target.precision != "fp32" and target.level == "plugin":
        raise InputError(
            f"precision {target.precision} at output level plugin: nothing here runs plugin nodes, so no range can be "
            "measured; give --output-level decoded or --precision fp32"
        )
    backend.check_target(target)
    if not backend.engine_options and target.engine != default_target.engine:
        takers = " or ".join(name for name, other in backends().items() if other.engine_options)
        raise InputError(
            f"engine options with backend {backend.name}: it builds no engine; leave --engine out, or give --backend "
            f"{takers}"
        )
