"""Configs: mmengine Config files, validated as a whole. Needs mmengine.

One file is enough to deploy a model. All faults of a file are reported together; an unknown key names the nearest ones.
"""

import ast
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mmengine.config import Config

from zoo.errors import InputError, nearest
from zoo.target import DEFAULT_SIDES, AxisRange, Target

KEYS: dict[str, type | tuple[type, ...]] = {
    "model": dict,
    "checkpoint": (str, type(None)),
    "task": dict,
    "preprocess": dict,
    "dataset": dict,
    "evaluator": dict,
    "train": dict,
    "export": dict,
    "gates": dict,
}
REQUIRED = ("model", "task", "preprocess")
EXPORT_KEYS: dict[str, type | tuple[type, ...]] = {
    "exporter": str,
    "opset": int,
    "inputs": dict,
    "forward": dict,
    "output_level": str,
    "rewriters": (list, tuple),
}
TYPED = ("model", "task", "dataset", "evaluator")  # sections that a registry builds: each names its `type`
INPUT_AXES = ("batch", "height", "width")


def load_config(path: str | Path) -> Config:
    """Read and validate a config file; names that start with an underscore are the file's own.

    Raises InputError where the file is missing, is not Python, or has faults (all of them in one message).
    """
    file = Path(path)
    if not file.is_file():
        known = [str(found) for found in sorted(Path("configs").rglob("*.py")) if "_base_" not in found.parts]
        hint = f"; {nearest(str(path), known)}" if known else ""
        raise InputError(f"config {path}: no such file{hint}")
    try:
        ast.parse(file.read_text(encoding="utf-8"))  # mmengine reads a copy, and its errors name that
        config = Config.fromfile(str(file), lazy_import=False)
    except SyntaxError as error:
        where = f"line {error.lineno}" if error.lineno else "one of its bases"
        raise InputError(f"config {path}, {where}: {error.msg.splitlines()[0]}") from error
    except Exception as error:  # the file is Python: anything may be raised by it
        raise InputError(f"config {path} cannot be read: {type(error).__name__}: {error}") from error
    faults = list(_faults(config))
    if faults:
        raise InputError(f"config {path}: " + "; ".join(faults))
    return config


def config_target(config: Config) -> Target:
    """The target that a config asks for by itself: its exporter, opset, level and input ranges.

    Height and width are the preprocessing's size, or `export.inputs` where that gives a range.
    """
    export = config.get("export", {})
    inputs = export.get("inputs", {})
    size = config.preprocess.get("size")
    fields: dict[str, Any] = {}
    if "batch" in inputs:
        fields["batch"] = axis_range("batch", inputs["batch"])
    for axis, index in (("height", 0), ("width", 1)):
        if axis in inputs:
            fields[axis] = axis_range(axis, inputs[axis])
        elif size is not None:
            fields[axis] = AxisRange.fixed(size[index])
        else:
            fields[axis] = AxisRange(DEFAULT_SIDES[0], 512, DEFAULT_SIDES[1])
    for key, field in (("exporter", "exporter"), ("opset", "opset"), ("output_level", "level")):
        if key in export:
            fields[field] = export[key]
    return Target(**fields)


def axis_range(axis: str, value: int | Iterable[int]) -> AxisRange:
    """One size, or (min, opt, max), as an AxisRange. Raises InputError that names the axis."""
    sizes = (value, value, value) if isinstance(value, int) else tuple(value)
    try:
        return AxisRange(*sizes)
    except TypeError as error:
        raise InputError(f"{axis}: expected one size or (min, opt, max), got {value!r}") from error
    except InputError as error:
        raise InputError(f"{axis}: {error}") from error


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
    export = sections.get("export")
    if isinstance(export, dict):
        yield from _unknown("key export.", export, EXPORT_KEYS)
        yield from _wrong_types("export.", export, EXPORT_KEYS)
        inputs = export.get("inputs")
        if isinstance(inputs, dict):
            yield from _unknown("key export.inputs.", inputs, INPUT_AXES)


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
