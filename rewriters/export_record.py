"""What is known of an export besides the file: who acted, what was warned of, what it took."""

import resource
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rewriters.precision.report import PrecisionReport
from zoo.tensor_spec import TensorSpec


@dataclass(frozen=True)
class Fired:
    """A rewriter that acted, why it exists, and how often it was called."""

    name: str
    reason: str
    hits: int


@dataclass(frozen=True)
class ExportRecord:
    """`seconds` of wall time, `peak_memory` in bytes (resident, of the whole process); the rest is reproducible.

    `precision`: how the file was brought to fp16 or int8; None for fp32. `calibrated`: on how many images its
    ranges were measured.
    """

    exporter: str
    opset: int
    rewriters: tuple[Fired, ...]
    warnings: tuple[str, ...]
    seconds: float
    peak_memory: int
    nodes: int
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    precision: PrecisionReport | None = None
    calibrated: int = 0


@dataclass
class Memory:
    """Peak resident memory in bytes; 0 until the context is left."""

    bytes: int = 0


@contextmanager
def peak_memory() -> Iterator[Memory]:
    """Peak resident memory of the process while the context lasts; where Linux's counter cannot be reset, until now."""
    memory = Memory()
    reset = _reset_peak()
    try:
        yield memory
    finally:
        memory.bytes = _peak_from_proc() if reset else _peak_of_process()


def _reset_peak() -> bool:
    try:
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # 5: reset VmHWM, see proc(5)
    except OSError:
        return False
    return True


def _peak_from_proc() -> int:
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return _peak_of_process()


def _peak_of_process() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024  # Linux counts KiB
