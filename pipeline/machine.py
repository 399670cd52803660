"""The machine that something was measured on, in words."""

import os
import platform
from pathlib import Path
from typing import Any

from pipeline.describe import versions


def machine() -> dict[str, Any]:
    """`processor`, its `threads` that this process may use, `python` and the `versions` of the libraries."""
    return {
        "processor": _processor(),
        "threads": len(os.sched_getaffinity(0)),
        "python": platform.python_version(),
        "versions": versions(),
    }


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())
