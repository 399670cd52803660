"""What is known of an export besides the file: who acted, what was warned of, what it took."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from rewriters.precision.report import PrecisionReport
from zoo.peak_memory import peak_resident_memory
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
    _reset_peak()
    try:
        yield memory
    finally:
        memory.bytes = peak_resident_memory()


def _reset_peak() -> None:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")  # 5: reset VmHWM, see proc(5)
