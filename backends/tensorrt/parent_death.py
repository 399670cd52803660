"""A process that does not outlive the one that asked for it."""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1  # sys/prctl.h


def die_with(parent: int) -> None:
    """Have the kernel kill this process when `parent` dies, where it can (Linux); end at once if it has."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            raise SystemExit(1)
