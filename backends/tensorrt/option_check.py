"""The engine options of a target, and those that a backend does not have."""

from backends.engine_options import EngineOptions
from zoo.errors import InputError
from zoo.target import Target


def engine_options(target: Target) -> EngineOptions:
    """The target's; the defaults where it has none."""
    return target.engine if isinstance(target.engine, EngineOptions) else EngineOptions()


def check_options(backend: str, options: EngineOptions) -> None:
    """Raise InputError for an option that `backend` does not have, with the reason.

    An engine of tensorrt-rtx is for all GPUs from Ampere on, unless compute capabilities are named: that is what
    `hardware_compatible` asks for, so it is taken there as long as none are named.
    """
    if backend == "tensorrt" and options.compute_capabilities:
        raise InputError(
            "engine option compute_capabilities with backend tensorrt: it builds for the GPU of this machine; leave it "
            "out, give hardware_compatible, or deploy with --backend tensorrt-rtx"
        )
    if backend == "tensorrt-rtx" and options.version_compatible:
        raise InputError(
            "engine option version_compatible with backend tensorrt-rtx: it comes without the lean runtime that such "
            "an engine carries; leave it out, and build again with the version that runs"
        )
    if backend == "tensorrt-rtx" and options.hardware_compatible and options.compute_capabilities:
        raise InputError(
            f"engine options hardware_compatible and compute_capabilities {', '.join(options.compute_capabilities)} "
            "with backend tensorrt-rtx: an engine for named ones is for no later GPU; give one of the two"
        )
