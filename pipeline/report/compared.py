"""Two deployments side by side, as data: what each says, and what differs."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pipeline.report.formatting import format_error, format_shape
from pipeline.report.graph_facts import graph_facts
from pipeline.report.recorded import Recorded
from zoo.byte_sizes import format_size
from zoo.errors import InputError
from zoo.manifest import ONNX_FILE

NONE = "-"
EXPORT: tuple[tuple[str, str, Callable[[Any], str]], ...] = (  # keys of parity.json's section "export"
    ("seconds", "export", lambda seconds: f"{seconds:.1f} s"),
    ("peak_memory_bytes", "memory of the export, at the peak", format_size),
    ("nodes", "nodes", str),
)


@dataclass(frozen=True)
class Row:
    """One thing that both say. ``change``: words for the difference of two numbers, where there is one."""

    name: str
    first: str
    second: str
    change: str = ""

    @property
    def same(self) -> bool:
        """Whether both say the same."""
        return self.first == self.second


@dataclass(frozen=True)
class Group:
    """Rows of one kind."""

    title: str
    rows: tuple[Row, ...]


@dataclass(frozen=True)
class Compared:
    """``summary``: sentences, the most important first."""

    summary: tuple[str, ...]
    groups: tuple[Group, ...]

    @property
    def different(self) -> int:
        """How many rows differ."""
        return sum(not row.same for group in self.groups for row in group.rows)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        groups = [
            {"title": group.title, "rows": [asdict(row) | {"same": row.same} for row in group.rows]}
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
        Group("What they are", tuple(_identity(first, second))),
        Group("Parity", tuple(_parity(first, second))),
        Group("Files and export", tuple(_cost(first, second))),
        Group("Tensors", tuple(_pairs(_tensors(first), _tensors(second)))),
        Group("Rewriters that acted, times", tuple(_pairs(_rewriters(first), _rewriters(second)))),
        Group("Operators, nodes", tuple(_counts(_operators(first), _operators(second)))),
        Group("Versions", tuple(_pairs(first.manifest.versions, second.manifest.versions))),
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


def _identity(first: Recorded, second: Recorded) -> Iterator[Row]:
    def facts(side: Recorded) -> dict[str, str]:
        manifest = side.manifest
        return {
            "model": manifest.name,
            "verdict": manifest.parity["verdict"] or "not measured",
            "backend": manifest.backend,
            "runs on": manifest.provider or NONE,
            "precision, stored": manifest.precision["stored"],
            "precision, computed": manifest.precision["computed"],
            "exporter": manifest.exporter,
            "opset": str(manifest.opset),
            "output level": manifest.output_level,
            **{f"axis {axis}": f"{b.min} to {b.max}, best at {b.opt}" for axis, b in manifest.axes.items()},
            "weights, sha256": (manifest.checkpoint or {}).get("sha256", NONE),
        }

    yield from _pairs(facts(first), facts(second))


def _parity(first: Recorded, second: Recorded) -> Iterator[Row]:
    for kind in ("graph", "pipeline"):
        sides = [
            {figure["name"]: figure for figure in side.parity.get("summary", {}).get(kind, {}).get("figures", ())}
            for side in (first, second)
        ]
        for name in dict.fromkeys([*sides[0], *sides[1]]):
            one, other = (side.get(name) for side in sides)
            unit = (one or other or {})["unit"]
            change = ""
            if one and other and one["max_error"] and other["max_error"]:
                change = f"{other['max_error'] / one['max_error']:.3g} times"
            what = f"{kind}: largest error of {name}{f' ({unit})' if unit else ''}"
            yield Row(what, _error(one), _error(other), change)
    if first.metric or second.metric:
        yield Row("metric on the data set", _metric(first.metric), _metric(second.metric))


def _error(figure: Mapping[str, Any] | None) -> str:
    return NONE if figure is None else format_error(figure["max_error"])


def _metric(metric: Mapping[str, Any] | None) -> str:
    return NONE if metric is None else f"{metric['value']:.2f} {metric['unit']}"


def _cost(first: Recorded, second: Recorded) -> Iterator[Row]:
    files = [side.manifest.files for side in (first, second)]
    for name in dict.fromkeys([*files[0], *files[1]]):
        one, other = (int(side[name]["bytes"]) if name in side else None for side in files)
        yield _measured(name, one, other, format_size)
    exports = [side.parity.get("export", {}) for side in (first, second)]
    for key, name, words in EXPORT:
        yield _measured(name, exports[0].get(key), exports[1].get(key), words)


def _measured(name: str, first: Any, second: Any, words: Callable[[Any], str]) -> Row:
    one, other = (NONE if value is None else words(value) for value in (first, second))
    return Row(name, one, other, f"{second / first - 1:+.1%}" if first and second and first != second else "")


def _tensors(side: Recorded) -> dict[str, str]:
    return {
        f"{kind} {spec.name}": f"{spec.dtype} {format_shape(spec.shape)}"
        for kind, specs in (("input", side.manifest.inputs), ("output", side.manifest.outputs))
        for spec in specs
    }


def _rewriters(side: Recorded) -> dict[str, str]:
    return {str(fired["name"]): str(fired["hits"]) for fired in side.manifest.rewriters}


def _operators(side: Recorded) -> dict[str, int]:
    return graph_facts(side.opened.file(ONNX_FILE)).operators


def _pairs(first: Mapping[str, str], second: Mapping[str, str]) -> Iterator[Row]:
    for name in dict.fromkeys([*first, *second]):
        yield Row(name, first.get(name, NONE), second.get(name, NONE))


def _counts(first: Mapping[str, int], second: Mapping[str, int]) -> Iterator[Row]:
    for name in dict.fromkeys([*first, *second]):
        one, other = first.get(name, 0), second.get(name, 0)
        yield Row(name, str(one), str(other), f"{other - one:+d}" if one != other else "")


def different_rows(groups: Sequence[Group]) -> list[tuple[str, Row]]:
    """Those of all groups that differ, each with its group's title."""
    return [(group.title, row) for group in groups for row in group.rows if not row.same]
