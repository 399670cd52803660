"""The processor: its name, and those of its instruction sets that numbers can depend on. Loads no library."""

import functools
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

CPUINFO = Path("/proc/cpuinfo")
INSTRUCTION_SETS = (
    *("sse4_1", "avx", "f16c", "fma", "avx2", "avx512f", "avx512bw", "avx512vl", "avx512_bf16", "avx512_fp16"),
    *("avx512_vnni", "avx_vnni", "avx_vnni_int8", "amx_tile", "amx_int8", "amx_bf16", "amx_fp16"),
    *("asimd", "asimdhp", "asimddp", "i8mm", "bf16", "sve", "sve2", "svei8mm", "sme", "sme2"),
)
"""As Linux spells them in /proc/cpuinfo: those that kernels of ONNX Runtime, OpenCV and numpy are chosen by."""


@dataclass(frozen=True)
class Processor:
    """`instruction_sets`: those of INSTRUCTION_SETS that it has, in their order; None where the system does not say."""

    processor: str
    architecture: str
    instruction_sets: tuple[str, ...] | None = None

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain JSON types."""
        sets = None if self.instruction_sets is None else list(self.instruction_sets)
        return {"processor": self.processor, "architecture": self.architecture, "instruction_sets": sets}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """The inverse."""
        sets = fields["instruction_sets"]
        return cls(fields["processor"], fields["architecture"], None if sets is None else tuple(sets))

    def __str__(self) -> str:
        sets = "instruction sets unknown" if self.instruction_sets is None else " ".join(self.instruction_sets)
        return f"{self.processor} ({self.architecture}: {sets})"


@functools.cache
def processor() -> Processor:
    """That of this machine. Linux says its instruction sets; elsewhere they are None."""
    try:
        lines = CPUINFO.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    return parsed(lines)


def parsed(lines: Sequence[str]) -> Processor:
    """From the lines of /proc/cpuinfo; what they do not say, Python does."""
    fields: dict[str, str] = {}
    for line in lines:
        key, colon, value = line.partition(":")
        if colon:
            fields.setdefault(key.strip(), value.strip())
    words = fields.get("flags", fields.get("Features", "")).split()
    sets = tuple(name for name in INSTRUCTION_SETS if name in words) if words else None
    name = fields.get("model name") or platform.machine()
    return Processor(name, platform.machine(), sets)
