"""How far one output is from what was proved."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
BROKEN = float("inf")


@dataclass(frozen=True)
class Deviation:
    """Of one output: the largest difference, `worst`, and its `gate`, both in `unit`; infinite for what is not finite.

    `detail`: how many of the output's things (values, pixels, detections ...) that is about. `fault`: in words, where
    the outputs cannot be compared at all.
    """

    output: str
    worst: float
    gate: float
    unit: str = ""
    detail: str = ""
    fault: str | None = None

    @classmethod
    def broken(cls, output: str, fault: str) -> "Deviation":
        """An output that cannot be compared."""
        return cls(output, BROKEN, 0.0, fault=fault)

    @classmethod
    def of(cls, output: str, errors: Array, gate: float, things: str, unit: str = "") -> "Deviation":
        """Of the error of each of an output's things."""
        values = np.nan_to_num(errors.astype(np.float64), nan=BROKEN, posinf=BROKEN).reshape(-1)
        wrong = int((values > gate).sum())
        return cls(output, float(values.max(initial=0.0)), gate, unit, f"{wrong} of {values.size} {things} beyond it")

    @property
    def passed(self) -> bool:
        """Whether the gate is kept."""
        return self.fault is None and self.worst <= self.gate

    def __str__(self) -> str:
        if self.fault is not None:
            return f"{self.output}: {self.fault}"
        unit = f" {self.unit}" if self.unit else ""
        worst = "NaN or infinity" if self.worst == BROKEN else f"off by {self.worst:.3g}{unit}"
        return f"{self.output}: {worst}, gate {self.gate:.3g}{unit} ({self.detail})"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return fields | {"worst": None if self.worst == BROKEN else self.worst, "passed": self.passed}


def shape_fault(expected: tuple[int, ...], output: Array) -> str | None:
    """Words for another shape."""
    if output.shape == expected:
        return None
    return f"got shape {list(output.shape)}, expected {list(expected)}"
