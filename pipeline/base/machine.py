"""The machine that something was measured on, in words. Loads no library."""

import platform

import zoo.processor
from backends.threads import default_threads


def processor() -> str:
    """The processor's name."""
    return zoo.processor.processor().processor


def threads() -> int:
    """How many CPUs this process may use."""
    return default_threads()


def machine() -> str:
    """Processor, threads and system."""
    return f"{processor()}, {threads()} threads, {platform.system()} {platform.machine()}"
