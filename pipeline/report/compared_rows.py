"""The rows of a comparison of two deployments: what each says."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from pipeline.report.formatting import format_error, format_milliseconds, format_shape
from pipeline.report.graph_facts import graph_facts
from pipeline.report.recorded import Recorded
from zoo.byte_sizes import format_size
from zoo.manifest import ONNX_FILE

NONE = "-"
EXPORT: tuple[tuple[str, str, Callable[[Any], str]], ...] = (  # keys of parity.json's section "export"
    ("seconds", "export", lambda seconds: f"{seconds:.1f} s"),
    ("peak_memory_bytes", "memory of the export, at the peak", format_size),
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


def identity_rows(first: Recorded, second: Recorded) -> Iterator[Row]:
    """Model, target and weights."""

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

    yield from pair_rows(facts(first), facts(second))


def parity_rows(first: Recorded, second: Recorded) -> Iterator[Row]:
    """The largest error of each output, and the metric."""
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


def file_rows(first: Recorded, second: Recorded) -> Iterator[Row]:
    """Sizes, and the nodes of the graph."""
    files = [side.manifest.files for side in (first, second)]
    for name in dict.fromkeys([*files[0], *files[1]]):
        one, other = (int(side[name]["bytes"]) if name in side else None for side in files)
        yield _measured(name, one, other, format_size)
    exports = [side.parity.get("export", {}) for side in (first, second)]
    yield _measured("nodes", exports[0].get("nodes"), exports[1].get("nodes"), str)


def varying_rows(first: Recorded, second: Recorded) -> Iterator[Row]:
    """What the same deploy measures anew in each run: when, how long, how much memory."""
    yield Row("deployed (UTC)", *(side.deployed or NONE for side in (first, second)))
    for pick, name in (
        (attrgetter("backend"), "one call of the backend"),
        (attrgetter("reference"), "one call of PyTorch"),
    ):
        one, other = (None if side.latency is None else pick(side.latency) for side in (first, second))
        yield _measured(f"{name}, median (ms)", one, other, format_milliseconds)
    exports = [side.parity.get("export", {}) for side in (first, second)]
    for key, name, words in EXPORT:
        yield _measured(name, exports[0].get(key), exports[1].get(key), words)


def _measured(name: str, first: Any, second: Any, words: Callable[[Any], str]) -> Row:
    one, other = (NONE if value is None else words(value) for value in (first, second))
    return Row(name, one, other, f"{second / first - 1:+.1%}" if first and second and first != second else "")


def tensors(side: Recorded) -> dict[str, str]:
    """Inputs and outputs: dtype and shape."""
    return {
        f"{kind} {spec.name}": f"{spec.dtype} {format_shape(spec.shape)}"
        for kind, specs in (("input", side.manifest.inputs), ("output", side.manifest.outputs))
        for spec in specs
    }


def rewriters(side: Recorded) -> dict[str, str]:
    """Those that acted, and how often."""
    return {str(fired["name"]): str(fired["hits"]) for fired in side.manifest.rewriters}


def operators(side: Recorded) -> dict[str, int]:
    """How often each occurs in the graph."""
    return graph_facts(side.opened.file(ONNX_FILE)).operators


def pair_rows(first: Mapping[str, str], second: Mapping[str, str]) -> Iterator[Row]:
    """One row for each key that either has."""
    for name in dict.fromkeys([*first, *second]):
        yield Row(name, first.get(name, NONE), second.get(name, NONE))


def count_rows(first: Mapping[str, int], second: Mapping[str, int]) -> Iterator[Row]:
    """The same of numbers, with their difference."""
    for name in dict.fromkeys([*first, *second]):
        one, other = first.get(name, 0), second.get(name, 0)
        yield Row(name, str(one), str(other), f"{other - one:+d}" if one != other else "")
