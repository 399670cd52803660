"""What was measured of a config: its cost, and its figures on each backend."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Self


@dataclass(frozen=True)
class BackendFigures:
    """One row of an evaluation (`pipeline.evaluate`), without its times: those are for benchmarks, on a quiet machine.

    `figures` in points 0..100 or dB, None where there was nothing to judge. `difference` of the main figure to
    PyTorch's, with its 95 % `interval`.
    """

    name: str
    backend: str
    precision: str
    figures: Mapping[str, float | None]
    difference: float | None
    interval: tuple[float, float] | None
    gate: float | None
    verdict: str

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Self:
        """From a row of `Evaluation.to_dict()`, or of a card's file; other keys of it are left out. KeyError."""
        values = {field.name: row[field.name] for field in fields(cls)}
        return cls(**{**values, "interval": None if values["interval"] is None else tuple(values["interval"])})


@dataclass(frozen=True)
class Measured:
    """The measured part of a card.

    `flops` of one input: a multiply-add counts as two. `input_size`: the last two axes of the tensor that it was
    counted on, of an image (height, width) in pixels. `images`: inputs of the data set; `metric`: the name of the main
    figure in each row's figures; `unit`: "points" or "dB". `machine`: the processor, its threads and the libraries'
    versions. `date`: ISO 8601.
    """

    fingerprint: str
    checkpoint_sha256: str | None
    parameters: int
    flops: int
    input_size: tuple[int, int]
    images: int
    metric: str
    unit: str
    rows: tuple[BackendFigures, ...]
    machine: Mapping[str, Any]
    date: str

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """From what to_dict gives. Raises KeyError, TypeError or ValueError where it is not that."""
        values = {field.name: content[field.name] for field in fields(cls)}
        first, second = values["input_size"]
        rows = tuple(BackendFigures.from_dict(row) for row in values["rows"])
        return cls(**{**values, "input_size": (int(first), int(second)), "rows": rows})

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self) | {"input_size": list(self.input_size), "rows": [asdict(row) for row in self.rows]}
