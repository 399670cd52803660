"""How TensorRT builds an engine (torch-free)."""

import re
from dataclasses import dataclass
from typing import ClassVar

from zoo.errors import InputError
from zoo.options import Options, option

CAPABILITY = re.compile(r"\d+\.\d")
LARGEST = 1_000_000_000  # of MiB, and of seconds: beyond it no library counts


@dataclass(frozen=True)
class EngineOptions(Options):
    """What a TensorRT engine is built with. Frozen and hashable.

    ``workspace_mib``: scratch memory that a layer may take, MiB; None for TensorRT's own limit.
    ``optimization_level``: 0 (quick build) to 5 (fast engine); None for TensorRT's own.
    ``version_compatible``: for later versions of TensorRT, too; the plan then carries code, so load trusted ones only.
    ``hardware_compatible``: for later GPUs, too. ``refittable``: weights may be changed without a new build.
    ``compute_capabilities``: those that a tensorrt-rtx engine is for, such as ("8.9", "12.0"); () for all.
    ``batches``: batch sizes with a profile of their own, tuned for them, beside the profile of the whole range.
    What is named twice counts once.
    ``timing_cache``: whether measured kernels are kept and shared between builds.
    ``timeout_seconds`` and ``memory_limit_mib`` bound the build's process; no memory limit where that is None.
    Raises InputError for a value that is none.
    """

    WHAT: ClassVar = "engine option"
    ONLY_THE_BUILD: ClassVar = ("timing_cache", "timeout_seconds", "memory_limit_mib")

    workspace_mib: int | None = option(None, "scratch memory that a layer may take")
    optimization_level: int | None = option(None, "0, quick build, to 5, fast engine")
    version_compatible: bool = option(default=False, what="also for later versions")
    hardware_compatible: bool = option(default=False, what="also for later GPUs")
    refittable: bool = option(default=False, what="weights may be changed")
    compute_capabilities: tuple[str, ...] = option((), "of the GPUs to build for, 8.9,12.0")
    batches: tuple[int, ...] = option((), "tuned for each, 1,8")
    timing_cache: bool = option(default=True, what="whether measured kernels are kept")
    timeout_seconds: int = option(1800, "of the build")
    memory_limit_mib: int | None = option(None, "of the build")

    def __post_init__(self) -> None:
        for name in ("workspace_mib", "memory_limit_mib", "timeout_seconds"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or not 1 <= value <= LARGEST):
                raise InputError(f"engine option {name} is {value!r}, expected an integer from 1 to {LARGEST}")
        level = self.optimization_level
        if level is not None and (type(level) is not int or level not in range(6)):
            raise InputError(f"engine option optimization_level is {level!r}, expected 0 to 5")
        for name in ("version_compatible", "hardware_compatible", "refittable", "timing_cache"):
            if not isinstance(getattr(self, name), bool):
                raise InputError(f"engine option {name} is {getattr(self, name)!r}, expected True or False")
        self._check_lists()

    def _check_lists(self) -> None:
        for name, expected in (("compute_capabilities", 'such as ["8.9"]'), ("batches", "such as [1, 8]")):
            value = getattr(self, name)
            if not isinstance(value, tuple):
                raise InputError(f"engine option {name} is {value!r}, expected a list, {expected}")
        for text in self.compute_capabilities:
            if not (isinstance(text, str) and CAPABILITY.fullmatch(text)):
                raise InputError(f"engine option compute_capabilities: {text!r} is not one; expected for example 8.9")
        for size in self.batches:
            if type(size) is not int or size < 1:
                raise InputError(f"engine option batches: got {size!r}, expected an integer, 1 or more")
        object.__setattr__(self, "compute_capabilities", tuple(dict.fromkeys(self.compute_capabilities)))
        object.__setattr__(self, "batches", tuple(dict.fromkeys(self.batches)))
