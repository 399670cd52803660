"""Reading a config file: as mmengine reads it, then checked as a whole. All faults are reported in one message."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from mmengine.config import Config

from zoo.codebases import codebase_of
from zoo.config.export_section import export_faults
from zoo.config.faults import Kinds, raised, unknown_keys, wrong_types
from zoo.config.inherited import inherited_faults
from zoo.config.model_config import BUILT, ModelConfig
from zoo.config.reading import read_config
from zoo.custom_imports import check_dotted_type, dotted_types, import_custom_module
from zoo.errors import InputError
from zoo.tasks import build_task, input_kind_of

ConfigSource: TypeAlias = str | Path | Config | ModelConfig
"""A config file or the name of a shipped one, a config of mmengine that was read from one, or what was read already."""

KINDS: Kinds = {
    "custom_imports": dict,
    "model": dict,
    "checkpoint": str,
    "task": dict,
    "preprocess": dict,
    "train_dataset": dict,
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
CUSTOM_IMPORTS_KINDS: Kinds = {"imports": (str, list, tuple), "allow_failed_imports": bool}
CARD_KINDS: Kinds = {"what": str, "paper": str, "licence": str}


def load_config(source: ConfigSource) -> ModelConfig:
    """Read and check a config, once; names that start with an underscore are the file's own.

    A key that is None is as if it were not there: so a file switches off what its bases set.
    What it imports (``custom_imports``, and types that name their module) is imported, before a registry is asked.
    Raises InputError where the file is missing, is not Python, or has faults (all of them in one message).
    """
    if isinstance(source, ModelConfig):
        return source
    config = source if isinstance(source, Config) else read_config(source)
    if config.filename is None:
        raise InputError("config: the mmengine Config has no filename, to which its paths are relative; set one")
    path = Path(config.filename)
    content = {key: value for key, value in config.to_dict().items() if value is not None}
    _check_own(path, content)
    if faults := list(_faults(path, content)):
        raise InputError(f"config {path}: " + "; ".join(faults))
    return ModelConfig.from_dict(path, content)


def _check_own(path: Path, content: Mapping[str, Any]) -> None:
    """Raises InputError for a config of OpenMMLab: one line, instead of a line for each key that is none here."""
    if (codebase := codebase_of(content, f"config {path}")) is not None:
        raise InputError(
            f"config {path} is one of {codebase.scope}'s: zooport deploy {path} --checkpoint FILE deploys it, and "
            f"zooport init {path} --weights FILE writes the equal zooport config, which all verbs take"
        )


def _faults(path: Path, content: Mapping[str, Any]) -> Iterable[str]:
    sections = {key: value for key, value in content.items() if not key.startswith("_")}
    yield from unknown_keys("key", sections, KINDS)
    yield from (f'key "{key}" is missing' for key in REQUIRED if key not in sections)
    yield from wrong_types("", sections, KINDS)
    for key in BUILT:
        yield from _type_faults(key, sections.get(key))
    import_faults = list(_import_faults(sections, path.parent))
    yield from import_faults
    task = sections.get("task")
    kind = input_kind_of(task.get("type") if isinstance(task, dict) else None)
    if isinstance(preprocess := sections.get("preprocess"), dict):
        yield from raised(kind.rule, preprocess)
    if not import_faults and isinstance(task, dict) and isinstance(task.get("type"), str):
        yield from _task_faults(task)
    if isinstance(export := sections.get("export"), dict):
        yield from export_faults(export, kind.axes)
    if isinstance(card := sections.get("card"), dict):
        yield from unknown_keys("key card.", card, CARD_KINDS)
        yield from (f'key "card.{key}" is missing' for key in CARD_KINDS if key not in card)
        yield from wrong_types("card.", card, CARD_KINDS)
    yield from inherited_faults(path, content)


def _type_faults(key: str, section: object) -> Iterable[str]:
    if isinstance(section, dict) and "type" not in section:
        yield f'"{key}" has no "type"'
    elif isinstance(section, dict) and not isinstance(section["type"], str):
        yield f'"{key}.type": expected str, got {type(section["type"]).__name__}'


def _import_faults(sections: Mapping[str, Any], folder: Path) -> Iterable[str]:
    """Imports what the config names beside it, or installed."""
    if isinstance(custom := sections.get("custom_imports"), dict):
        yield from _custom_imports_faults(custom, folder)
    for key in BUILT:
        for where, kind in dotted_types(key, sections.get(key)):
            yield from (f'"{where}": {fault}' for fault in raised(lambda kind: check_dotted_type(kind, folder), kind))


def _custom_imports_faults(custom: Mapping[str, Any], folder: Path) -> Iterable[str]:
    yield from unknown_keys("key custom_imports.", custom, CUSTOM_IMPORTS_KINDS)
    yield from wrong_types("custom_imports.", custom, CUSTOM_IMPORTS_KINDS)
    names, allow_failed = custom.get("imports", ()), custom.get("allow_failed_imports", False) is True
    names = (names,) if isinstance(names, str) else names
    for index, name in enumerate(names if isinstance(names, list | tuple) else ()):
        if isinstance(name, str):
            yield from raised(lambda name: import_custom_module(name, folder, allow_failed=allow_failed), name)
        else:
            yield f'"custom_imports.imports[{index}]": expected the name of a module, got {name!r}'


def _task_faults(task: Mapping[str, Any]) -> Iterable[str]:
    classes = task.get("classes", ())
    if isinstance(classes, list | tuple) and all(isinstance(entry, dict) for entry in classes):
        yield from raised(build_task, task)
    else:
        yield f'"task.classes": expected a list of dict(name=..., category_id=...), got {classes!r}'
