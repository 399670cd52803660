"""The machine that something was measured on, in words. Loads no library."""

import os
import platform
from pathlib import Path


def processor() -> str:
    """The processor's name."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def threads() -> int:
    """How many CPUs this process may use."""
    return len(os.sched_getaffinity(0))


def machine() -> str:
    """Processor, threads and system."""
    return f"{processor()}, {threads()} threads, {platform.system()} {platform.machine()}"
