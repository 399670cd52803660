"""How many threads a runtime gets where nobody says."""

import math
import os
from contextlib import suppress
from pathlib import Path

CGROUP = Path("/sys/fs/cgroup")


def default_threads() -> int:
    """The number of CPUs that this process may use: more threads than that can halve the speed.

    A container's limit counts as well, which is a share of their time: half a CPU is one.
    """
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, min(cpus, math.ceil(_limit() or cpus)))


def _limit() -> float | None:
    """CPUs' time that the container has, as cgroups of version 2 or 1 say it; None without a limit."""
    with suppress(OSError, ValueError):  # ValueError: "max"
        quota, period = (CGROUP / "cpu.max").read_text("ascii").split()
        return int(quota) / int(period)
    with suppress(OSError, ValueError):
        quota, period = ((CGROUP / "cpu" / f"cpu.cfs_{name}_us").read_text("ascii") for name in ("quota", "period"))
        return int(quota) / int(period) if int(quota) > 0 else None
    return None
