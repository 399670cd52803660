"""How far one module's output is from PyTorch's, as a row of the report."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any, NamedTuple


class ModuleError(NamedTuple):
    """``error``: the largest absolute one, in the tensor's own unit; ``relative``: a part of the tensor's range. Both
    are infinite where NaN or infinities differ.

    ``verdict``: that of the alignment.
    """

    module: str
    error: float
    relative: float
    verdict: str


@dataclass(frozen=True)
class ModuleErrors:
    """``verdict``: what the alignment says, or why there is none. ``rows``: in graph order.

    ``threshold``: of ``relative``, past which a module differs. ``notes``: what else a reader must know.
    """

    verdict: str
    rows: Sequence[ModuleError] = ()
    threshold: float = 0.0
    notes: Sequence[str] = ()

    def to_dict(self) -> dict[str, Any]:
        """For JSON, which has no number for what is not finite: None."""
        rows = [
            {
                name: value if isinstance(value, str) or isfinite(value) else None
                for name, value in row._asdict().items()
            }
            for row in self.rows
        ]
        return {"verdict": self.verdict, "threshold": self.threshold, "rows": rows, "notes": list(self.notes)}
