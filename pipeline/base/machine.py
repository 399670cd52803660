"""The machine that something was measured on, in words. Loads no library."""

import os
import platform

import zoo.processor


def processor() -> str:
    """The processor's name."""
    return zoo.processor.processor().processor


def threads() -> int:
    """How many CPUs this process may use."""
    return len(os.sched_getaffinity(0))


def machine() -> str:
    """Processor, threads and system."""
    return f"{processor()}, {threads()} threads, {platform.system()} {platform.machine()}"
