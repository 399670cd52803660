"""What became of a cell, as a file of its own."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Self

from pipeline.regression.atomic import write_whole
from pipeline.regression.state import State

CELLS = "cells"


@dataclass(frozen=True, kw_only=True)
class Measured:
    """What the evaluation of a deployment found. Points 0..100 or dB; None where there was nothing to judge."""

    metric: str | None
    unit: str | None
    images: int
    figure: float | None
    reference: float | None
    difference: float | None
    interval: tuple[float, float] | None
    gate: float | None

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """From plain JSON types. Raises TypeError where a field is missing or unknown."""
        interval = fields.get("interval")
        return cls(**{**fields, "interval": None if interval is None else tuple(interval)})


@dataclass(frozen=True, kw_only=True)
class Result:
    """``reason``: one line, empty where the cell passed. Paths are relative to the matrix's work folder.

    ``deploy_seconds``: of the whole process, the loading of PyTorch included. ``bytes``: of the files that the runtime
    loads. ``made_from``: what the result depends on.
    """

    state: State
    reason: str = ""
    deploy_seconds: float | None = None
    evaluate_seconds: float | None = None
    bytes: int | None = None
    deployment: str | None = None
    measured: Measured | None = None
    logs: tuple[str, ...] = ()
    made_from: Mapping[str, Any] = field(default_factory=dict)

    def write(self, work_dir: Path, cell_id: str) -> None:
        """Write cells/<id>.json."""
        write_whole(result_file(work_dir, cell_id), json.dumps(asdict(self), indent=2, sort_keys=True) + "\n")

    @classmethod
    def read(cls, work_dir: Path, cell_id: str) -> Self | None:
        """The inverse of write; None where there is no result, or none that this version can read."""
        try:
            fields = json.loads(result_file(work_dir, cell_id).read_bytes())
            measured = fields["measured"]
            fields["state"] = State(fields["state"])
            fields["measured"] = None if measured is None else Measured.from_dict(measured)
            fields["logs"] = tuple(fields["logs"])
            return cls(**fields)
        except (FileNotFoundError, ValueError, TypeError, KeyError):
            return None


def result_file(work_dir: Path, cell_id: str) -> Path:
    """Where a cell's result lies."""
    return work_dir / CELLS / f"{cell_id}.json"
