"""Configs: mmengine Config files, validated as a whole. Needs mmengine.

One file is enough to deploy a model. All faults of a file are reported together; an unknown key names the nearest ones.
"""

import ast
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from mmengine.config import Config

from zoo.custom_imports import check_dotted_type, dotted_types, import_custom_module
from zoo.engine_options import EngineOptions
from zoo.errors import InputError, nearest
from zoo.precision_options import PrecisionOptions
from zoo.preprocess import MIN_SIDE, Preprocess
from zoo.target import DEFAULT_SIDES, PRECISIONS, AxisRange, Target
from zoo.tasks import build_task

KEYS: dict[str, type | tuple[type, ...]] = {
    "custom_imports": dict,
    "model": dict,
    "checkpoint": (str, type(None)),
    "task": dict,
    "preprocess": dict,
    "dataset": dict,
    "gate_dataset": dict,
    "calibration_dataset": dict,
    "evaluator": dict,
    "train": dict,
    "export": dict,
    "gates": dict,
    "card": dict,
}
REQUIRED = ("model", "task", "preprocess")
EXPORT_KEYS: dict[str, type | tuple[type, ...]] = {
    "custom_imports": dict,
    "exporter": str,
    "opset": int,
    "inputs": dict,
    "forward": dict,
    "output_level": str,
    "layout": str,
    "slide": str,
    "window_batch": int,
    "plugin": dict,
    "graph_rewriters": (list, tuple),
    "rewriters": (list, tuple),
    "precision": dict,
    "engine": dict,
}
CUSTOM_IMPORTS_KEYS: dict[str, type | tuple[type, ...]] = {
    "imports": (str, list, tuple),
    "allow_failed_imports": bool,
}
CARD_KEYS: dict[str, type | tuple[type, ...]] = {"what": str, "paper": str, "licence": str}
TARGET_FIELDS = {  # the exporter before its opset, the level before its layout
    "exporter": "exporter",
    "opset": "opset",
    "output_level": "level",
    "layout": "layout",
    "slide": "slide",
    "window_batch": "window_batch",
}
# Sections that a registry builds: each names its `type`.
TYPED = ("model", "task", "dataset", "gate_dataset", "calibration_dataset", "evaluator")
INPUT_AXES = ("batch", "height", "width")
INPUT_FLAGS = ("image_sizes", "thresholds")
INPUT_KEYS = (*INPUT_AXES, *INPUT_FLAGS)


def load_config(path: str | Path) -> Config:
    """Read and validate a config file; names that start with an underscore are the file's own.

    What it imports (``custom_imports``, and types that name their module) is imported, before a registry is asked.

    Raises InputError where the file is missing, is not Python, or has faults (all of them in one message).
    """
    file = Path(path)
    if not file.is_file():
        known = [str(found) for found in sorted(Path("configs").rglob("*.py")) if "_base_" not in found.parts]
        hint = f"; {nearest(str(path), known)}" if known else ""
        raise InputError(f"config {path}: no such file{hint}")
    try:
        ast.parse(file.read_text(encoding="utf-8"))  # mmengine reads a copy, and its errors name that
        config = Config.fromfile(str(file), lazy_import=False, import_custom_modules=False)
    except SyntaxError as error:
        where = f"line {error.lineno}" if error.lineno else "one of its bases"
        raise InputError(f"config {path}, {where}: {error.msg.splitlines()[0]}") from error
    except Exception as error:  # the file is Python: anything may be raised by it
        raise InputError(f"config {path} cannot be read: {type(error).__name__}: {error}") from error
    faults = list(_faults(config))
    if faults:
        raise InputError(f"config {path}: " + "; ".join(faults))
    return config


def config_target(config: Config, precision: str = "fp32") -> Target:
    """The target that a config asks for by itself: its exporter, opset, level, inputs, sliding windows, engine.

    Height and width are the preprocessing's size, or `export.inputs` where that gives a range. `precision` decides
    which of the options in `export.precision` hold. Raises InputError.
    """
    export = config.get("export", {})
    inputs = export.get("inputs", {})
    size = _preprocess(config.preprocess).size
    fields: dict[str, Any] = {flag: inputs.get(flag, False) for flag in INPUT_FLAGS}
    if "batch" in inputs:
        fields["batch"] = axis_range("batch", inputs["batch"])
    for axis, index in (("height", 0), ("width", 1)):
        if axis in inputs:
            fields[axis] = axis_range(axis, inputs[axis])
        elif size is not None:
            fields[axis] = AxisRange.fixed(size[index])
        else:
            fields[axis] = AxisRange(DEFAULT_SIDES[0], 512, DEFAULT_SIDES[1])
    for key, field in TARGET_FIELDS.items():
        if key in export:
            fields[field] = export[key]
    fields["precision"] = precision
    fields["precision_options"] = PrecisionOptions.from_dict(dict(export.get("precision", {}).get(precision, {})))
    fields["engine"] = EngineOptions.from_dict(dict(export.get("engine", {})))
    return Target(**fields)


def axis_range(axis: str, value: int | Iterable[int]) -> AxisRange:
    """One size, or (min, opt, max), as an AxisRange. Raises InputError that names the axis."""
    sizes = tuple(value) if isinstance(value, Iterable) else (value, value, value)
    if len(sizes) != 3 or not all(type(size) is int for size in sizes):  # noqa: PLR2004 - (min, opt, max)
        raise InputError(f"{axis}: expected one size or (min, opt, max), got {value!r}")
    try:
        return AxisRange(*sizes)
    except InputError as error:
        raise InputError(f"{axis}: {error}") from error


def _preprocess(fields: Mapping[str, Any]) -> Preprocess:
    size = fields.get("size")
    if not isinstance(size, list | tuple | None):
        raise InputError(f"preprocess: got size {size!r}, expected (height, width) in whole pixels, {MIN_SIDE} or more")
    return Preprocess.from_dict(fields)


def _faults(config: Config) -> Iterable[str]:
    sections = {key: value for key, value in config.items() if not key.startswith("_")}
    yield from _unknown("key", sections, KEYS)
    for key in REQUIRED:
        if key not in sections:
            yield f'key "{key}" is missing'
    yield from _wrong_types("", sections, KEYS)
    for key in TYPED:
        section = sections.get(key)
        if isinstance(section, dict) and "type" not in section:
            yield f'"{key}" has no "type"'
        elif isinstance(section, dict) and not isinstance(section["type"], str):
            yield f'"{key}.type": expected str, got {type(section["type"]).__name__}'
    import_faults = list(_import_faults(sections, Path(config.filename).parent))
    yield from import_faults
    if isinstance(preprocess := sections.get("preprocess"), dict):
        yield from _raised(_preprocess, preprocess)
    if not import_faults and isinstance(task := sections.get("task"), dict) and isinstance(task.get("type"), str):
        yield from _task_faults(task)
    if isinstance(export := sections.get("export"), dict):
        yield from _unknown("key export.", export, EXPORT_KEYS)
        yield from _wrong_types("export.", export, EXPORT_KEYS)
        yield from _export_faults(export)
    if isinstance(card := sections.get("card"), dict):
        yield from _unknown("key card.", card, CARD_KEYS)
        yield from (f'key "card.{key}" is missing' for key in CARD_KEYS if key not in card)
        yield from _wrong_types("card.", card, CARD_KEYS)


def _import_faults(sections: Mapping[str, Any], folder: Path) -> Iterable[str]:
    """Imports what the config names beside it, or installed."""
    if isinstance(custom := sections.get("custom_imports"), dict):
        yield from _custom_imports_faults(custom, folder)
    for key in TYPED:
        for where, kind in dotted_types(key, sections.get(key)):
            yield from (f'"{where}": {fault}' for fault in _raised(lambda kind: check_dotted_type(kind, folder), kind))


def _custom_imports_faults(custom: Mapping[str, Any], folder: Path) -> Iterable[str]:
    yield from _unknown("key custom_imports.", custom, CUSTOM_IMPORTS_KEYS)
    yield from _wrong_types("custom_imports.", custom, CUSTOM_IMPORTS_KEYS)
    names, allow_failed = custom.get("imports", ()), custom.get("allow_failed_imports", False) is True
    names = (names,) if isinstance(names, str) else names
    for index, name in enumerate(names if isinstance(names, list | tuple) else ()):
        if isinstance(name, str):
            yield from _raised(lambda name: import_custom_module(name, folder, allow_failed=allow_failed), name)
        else:
            yield f'"custom_imports.imports[{index}]": expected the name of a module, got {name!r}'


def _task_faults(task: Mapping[str, Any]) -> Iterable[str]:
    classes = task.get("classes", ())
    if isinstance(classes, list | tuple) and all(isinstance(entry, dict) for entry in classes):
        yield from _raised(build_task, task)
    else:
        yield f'"task.classes": expected a list of dict(name=..., category_id=...), got {classes!r}'


def _export_faults(export: Mapping[str, Any]) -> Iterable[str]:
    """What is wrong with values of the right type."""
    inputs = export.get("inputs")
    if isinstance(inputs, dict):
        yield from _unknown("key export.inputs.", inputs, INPUT_KEYS)
        for axis in INPUT_AXES:
            if axis in inputs:
                yield from _raised(lambda axis: axis_range(f"export.inputs.{axis}", inputs[axis]), axis)
        for flag in INPUT_FLAGS:
            if not isinstance(asked := inputs.get(flag, False), bool):
                yield f"export.inputs.{flag}: expected True or False, got {asked!r}"
    side = AxisRange.fixed(MIN_SIDE)  # any: these fields are judged one by one, the opset with its exporter
    good: dict[str, Any] = {}
    for key, field in TARGET_FIELDS.items():
        if isinstance(export.get(key), EXPORT_KEYS[key]):
            chosen = {**good, field: export[key]}
            found = list(_raised(lambda chosen: Target(height=side, width=side, **chosen), chosen))
            yield from (f"export.{key}: {fault}" for fault in found)
            good = good if found else chosen
    yield from _steps_faults(export)
    yield from _option_faults(export)


def _option_faults(export: Mapping[str, Any]) -> Iterable[str]:
    """Of the options of precisions and of engines."""
    section = export.get("precision")
    if isinstance(section, dict):
        yield from _unknown("key export.precision.", section, PRECISIONS[1:])
        for precision, options in section.items():
            if not isinstance(options, dict):
                yield f'"export.precision.{precision}": expected a dict of options, got {options!r}'
            else:
                yield from (f"export.precision.{precision}: {f}" for f in _raised(PrecisionOptions.from_dict, options))
    engine = export.get("engine")
    if isinstance(engine, dict):
        yield from (f"export.engine: {fault}" for fault in _raised(EngineOptions.from_dict, engine))


def _steps_faults(export: Mapping[str, Any]) -> Iterable[str]:
    """Of the rewriters' names."""
    for key in ("rewriters", "graph_rewriters"):
        entries = export.get(key, ())
        for index, entry in enumerate(entries if isinstance(entries, list | tuple) else ()):
            if not isinstance(entry.get("name") if isinstance(entry, dict) else entry, str):
                yield f'"export.{key}[{index}]": expected a name or dict(name=..., option=value), got {entry!r}'
    plugin = export.get("plugin")
    if isinstance(plugin, dict) and not isinstance(plugin.get("name"), str):
        yield f'"export.plugin": expected dict(name=..., option=value), got {plugin!r}'


def _raised(check: Callable[[Any], object], value: object) -> Iterable[str]:
    """The message of the InputError that the check of a value raises, if it does."""
    try:
        check(value)
    except InputError as error:
        yield str(error)


def _unknown(what: str, section: Mapping[str, Any], known: Iterable[str]) -> Iterable[str]:
    for key in section:
        if key not in known:
            yield f'unknown {what}{"" if what.endswith(".") else " "}"{key}"; {nearest(key, known)}'


def _wrong_types(
    prefix: str, section: Mapping[str, Any], kinds: Mapping[str, type | tuple[type, ...]]
) -> Iterable[str]:
    for key, value in section.items():
        kind = kinds.get(key)
        if kind is not None and not isinstance(value, kind):
            names = [k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,))]
            yield f'"{prefix}{key}": expected {" or ".join(names)}, got {type(value).__name__}'
