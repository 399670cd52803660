"""The section ``export`` of a config: how the model becomes a graph, and what the graph takes."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Self

from zoo.config.faults import Kinds, raised, unknown_keys, wrong_types
from zoo.errors import InputError
from zoo.precision_options import PrecisionOptions
from zoo.target import PRECISIONS, AxisRange, Target

KINDS: Kinds = {
    "exporter": str,
    "opset": int,
    "inputs": dict,
    "forward": dict,
    "output_level": str,
    "layout": str,
    "slide": str,
    "window_batch": int,
    "level_options": dict,
    "plugin": dict,
    "graph_rewriters": (list, tuple),
    "rewriters": (list, tuple),
    "precision": dict,
    "engine": dict,
}
TARGET_FIELDS = {  # the exporter before its opset, the level before its layout
    "exporter": "exporter",
    "opset": "opset",
    "output_level": "level",
    "layout": "layout",
    "slide": "slide",
    "window_batch": "window_batch",
}
INPUT_FLAGS = ("image_sizes", "thresholds")


@dataclass(frozen=True)
class InputsSection:
    """``export.inputs``. ``axes``: those with a range or a size of their own; the input kind decides the others."""

    axes: Mapping[str, AxisRange] = field(default_factory=dict)
    image_sizes: bool = False
    thresholds: bool = False

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """From fields without faults, see export_faults."""
        axes = {axis: axis_range(axis, value) for axis, value in fields.items() if axis not in INPUT_FLAGS}
        return cls(axes, **{flag: fields[flag] for flag in INPUT_FLAGS if flag in fields})


@dataclass(frozen=True)
class ExportSection:
    """``target``: fields of Target that the config sets (exporter, opset, level, layout, slide, window_batch).

    ``forward``: keyword arguments of the model's forward. ``level_options``: of the output level, which the model's
    family knows. ``plugin``: dict(name=..., option=value).
    ``graph_rewriters`` and ``rewriters``: names, or dict(name=..., option=value). ``precision``: options by precision.
    ``engine``: options of a backend's build, by name.
    """

    target: Mapping[str, Any] = field(default_factory=dict)
    inputs: InputsSection = field(default_factory=InputsSection)
    forward: Mapping[str, Any] = field(default_factory=dict)
    level_options: Mapping[str, Any] = field(default_factory=dict)
    plugin: Mapping[str, Any] | None = None
    graph_rewriters: tuple[str | Mapping[str, Any], ...] = ()
    rewriters: tuple[str | Mapping[str, Any], ...] = ()
    precision: Mapping[str, PrecisionOptions] = field(default_factory=dict)
    engine: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """From fields without faults, see export_faults."""
        precision = fields.get("precision", {})
        return cls(
            target={name: fields[key] for key, name in TARGET_FIELDS.items() if key in fields},
            inputs=InputsSection.from_dict(fields.get("inputs", {})),
            forward=fields.get("forward", {}),
            level_options=fields.get("level_options", {}),
            plugin=fields.get("plugin"),
            graph_rewriters=tuple(fields.get("graph_rewriters", ())),
            rewriters=tuple(fields.get("rewriters", ())),
            precision={name: PrecisionOptions.from_dict(options) for name, options in precision.items()},
            engine=fields.get("engine", {}),
        )


def axis_range(axis: str, value: int | Iterable[int]) -> AxisRange:
    """One size, or (min, opt, max), as an AxisRange. Raises InputError that names the axis."""
    sizes = tuple(value) if isinstance(value, Iterable) else (value, value, value)
    if len(sizes) != 3 or not all(type(size) is int for size in sizes):  # noqa: PLR2004 - (min, opt, max)
        raise InputError(f"{axis}: expected one size or (min, opt, max), got {value!r}")
    try:
        return AxisRange(*sizes)
    except InputError as error:
        raise InputError(f"{axis}: {error}") from error


def export_faults(export: Mapping[str, Any], axes: Sequence[str]) -> Iterable[str]:
    """All that is wrong with the section. ``axes``: those of the task's input kind."""
    yield from unknown_keys("key export.", export, KINDS)
    yield from wrong_types("export.", export, KINDS)
    yield from _input_faults(export.get("inputs"), axes)
    yield from _target_faults(export)
    yield from _rewriter_faults(export)
    yield from _option_faults(export)


def _input_faults(inputs: object, axes: Sequence[str]) -> Iterable[str]:
    if not isinstance(inputs, dict):
        return
    yield from unknown_keys("key export.inputs.", inputs, (*axes, *INPUT_FLAGS))
    for axis in axes:
        if axis in inputs:
            yield from raised(lambda axis: axis_range(f"export.inputs.{axis}", inputs[axis]), axis)
    for flag in INPUT_FLAGS:
        if not isinstance(value := inputs.get(flag, False), bool):
            yield f"export.inputs.{flag}: expected True or False, got {value!r}"


def _target_faults(export: Mapping[str, Any]) -> Iterable[str]:
    """Of the target's fields, each with those before it that are good: an opset is judged with its exporter."""
    good: dict[str, Any] = {}
    for key, name in TARGET_FIELDS.items():
        if isinstance(export.get(key), KINDS[key]):
            chosen = {**good, name: export[key]}
            faults = list(raised(lambda chosen: Target({}, **chosen), chosen))
            yield from (f"export.{key}: {fault}" for fault in faults)
            good = good if faults else chosen


def _rewriter_faults(export: Mapping[str, Any]) -> Iterable[str]:
    for key in ("rewriters", "graph_rewriters"):
        entries = export.get(key, ())
        for index, entry in enumerate(entries if isinstance(entries, list | tuple) else ()):
            if not isinstance(entry.get("name") if isinstance(entry, dict) else entry, str):
                yield f'"export.{key}[{index}]": expected a name or dict(name=..., option=value), got {entry!r}'
    plugin = export.get("plugin")
    if isinstance(plugin, dict) and not isinstance(plugin.get("name"), str):
        yield f'"export.plugin": expected dict(name=..., option=value), got {plugin!r}'


def _option_faults(export: Mapping[str, Any]) -> Iterable[str]:
    """Of the options of precisions. Those of an engine are checked by the backend that has them."""
    section = export.get("precision")
    if isinstance(section, dict):
        yield from unknown_keys("key export.precision.", section, PRECISIONS[1:])
        for precision, options in section.items():
            if not isinstance(options, dict):
                yield f'"export.precision.{precision}": expected a dict of options, got {options!r}'
            else:
                yield from (f"export.precision.{precision}: {f}" for f in raised(PrecisionOptions.from_dict, options))
