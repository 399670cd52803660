"""What is known before a build about whether it can be: the options, the GPU, and the range of batches."""

from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any

from backends.engine_options import EngineOptions
from backends.gpu import Gpu, gpu
from backends.profiles import check_batch
from backends.tensorrt.cuda import device_number
from backends.tensorrt.library import library
from backends.tensorrt.option_check import check_options
from zoo.errors import BackendUnavailableError, InputError
from zoo.target import AxisRange


def check_buildable(backend: str, options: EngineOptions, device: str, batch: AxisRange) -> None:
    """Raise InputError or BackendUnavailableError where an engine cannot be built here, as the build itself would.

    `device`: "cuda:0", the one that the engine is for. `batch`: the batches that the graph takes.
    """
    check_options(backend, options)
    here = gpu(device_number(device))
    if here is None and gpu() is not None:
        raise BackendUnavailableError(f"device {device}: this machine has no such GPU; give --device cuda:0")
    check_machine(backend, options, here)
    if options.compute_capabilities:
        check_capabilities(library(backend), options.compute_capabilities)
    for size in options.batches:
        check_batch(size, batch)


def check_machine(backend: str, options: EngineOptions, here: Gpu | None) -> None:
    """Raise BackendUnavailableError where a build needs a GPU and there is none. `here`: the GPU to build on."""
    if here is None and backend == "tensorrt":
        raise BackendUnavailableError("tensorrt builds on a GPU, and there is none here; use backend tensorrt-rtx")
    if here is None and options.refittable:
        raise BackendUnavailableError(
            "engine option refittable: tensorrt-rtx compiles such an engine on a GPU, and there is none here; leave it "
            "out, or build where the GPU is"
        )


def check_capabilities(trt: ModuleType, requested: Sequence[str]) -> Mapping[str, Any]:
    """Each compute capability that tensorrt_rtx builds for, "8.9" -> the member SM89 of its enumeration.

    Raises InputError where one of `requested` is not among them.
    """
    members = trt.ComputeCapability.__members__
    known = {f"{name[2:-1]}.{name[-1]}": member for name, member in members.items() if name.startswith("SM")}
    for text in requested:
        if text not in known:
            has = ", ".join(sorted(known, key=float))
            raise InputError(f"engine option compute_capabilities: got {text}, but {trt.__name__} builds for {has}")
    return known
