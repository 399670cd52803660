"""Two deployments side by side, as data: what each says, and what differs."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.report.compared_rows import (
    Row,
    count_rows,
    file_rows,
    identity_rows,
    operators,
    pair_rows,
    parity_rows,
    rewriters,
    tensors,
    varying_rows,
)
from pipeline.report.recorded import Recorded
from zoo.errors import InputError
from zoo.manifest import ONNX_FILE


@dataclass(frozen=True)
class Group:
    """Rows of one kind. ``varies``: they are measured anew in each run, so that they are no differences."""

    title: str
    rows: tuple[Row, ...]
    varies: bool = False

    @property
    def different(self) -> tuple[Row, ...]:
        """The rows that differ."""
        return () if self.varies else tuple(row for row in self.rows if not row.same)


@dataclass(frozen=True)
class Compared:
    """``summary``: sentences, the most important first."""

    summary: tuple[str, ...]
    groups: tuple[Group, ...]

    @property
    def different(self) -> int:
        """How many rows differ."""
        return sum(len(group.different) for group in self.groups)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        groups = [
            {
                "title": group.title,
                "varies": group.varies,
                "rows": [asdict(row) | {"same": row.same} for row in group.rows],
            }
            for group in self.groups
        ]
        return {"summary": list(self.summary), "different": self.different, "groups": groups}


def compare_recorded(first: Recorded, second: Recorded) -> Compared:
    """Raises InputError where the two have different tasks, or a model.onnx is missing."""
    tasks = first.manifest.task, second.manifest.task
    if tasks[0] != tasks[1]:
        raise InputError(
            f"{first.folder} is a deployment for {tasks[0]}, {second.folder} one for {tasks[1]}: they cannot be "
            "compared; give two of one task"
        )
    groups = (
        Group("What they are", tuple(identity_rows(first, second))),
        Group("Parity", tuple(parity_rows(first, second))),
        Group("Files and graph", tuple(file_rows(first, second))),
        Group("Tensors", tuple(pair_rows(tensors(first), tensors(second)))),
        Group("Rewriters that acted, times", tuple(pair_rows(rewriters(first), rewriters(second)))),
        Group("Operators, nodes", tuple(count_rows(operators(first), operators(second)))),
        Group("Versions", tuple(pair_rows(first.manifest.versions, second.manifest.versions))),
        Group("Measured again in each run", tuple(varying_rows(first, second)), varies=True),
    )
    return Compared(tuple(_summary(first, second)), groups)


def _summary(first: Recorded, second: Recorded) -> Iterator[str]:
    verdicts = [side.manifest.parity["verdict"] or "not measured" for side in (first, second)]
    yield (
        f"Parity of both: {verdicts[0]}."
        if verdicts[0] == verdicts[1]
        else f"Parity: A {verdicts[0]}, B {verdicts[1]}."
    )
    weights = [side.manifest.checkpoint for side in (first, second)]
    if None in weights:
        yield "Whether both have the same weights is not known."
    elif weights[0] == weights[1]:
        yield "Both have the same weights."
    else:
        yield "They have DIFFERENT weights: these are two models, not one model twice."
    hashes = [side.manifest.files.get(ONNX_FILE, {}).get("sha256") for side in (first, second)]
    yield f"{ONNX_FILE} is {'the same, byte for byte' if hashes[0] == hashes[1] else 'another file'}."
    if first.metric and second.metric and first.metric["name"] == second.metric["name"]:
        change = second.metric["value"] - first.metric["value"]
        yield f"{first.metric['name']}: B has {change:+.2f} {first.metric['unit']} to A."


def different_rows(groups: Sequence[Group]) -> list[tuple[str, Row]]:
    """Those of all groups that differ, each with its group's title."""
    return [(group.title, row) for group in groups for row in group.different]
