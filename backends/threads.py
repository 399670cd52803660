"""How many threads a runtime gets where nobody says."""

import os


def default_threads() -> int:
    """The number of CPUs that this process may use: more threads than that can halve the speed."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
