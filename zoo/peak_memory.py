"""How much memory this process has taken at its peak."""

import resource
import sys
from pathlib import Path


def peak_resident_memory() -> int:
    """Bytes of resident memory, since the process began or, on Linux, since its peak was reset."""
    try:
        status = Path("/proc/self/status").read_text(encoding="ascii")
    except OSError:
        status = ""
    for line in status.splitlines():
        if line.startswith("VmHWM:"):  # ru_maxrss also has the peak of the process that started this one
            return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # others count KiB
