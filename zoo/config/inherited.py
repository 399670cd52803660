"""What a config with data of its own would take silently from a shipped one: parts that are about other data."""

import ast
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.config.bases import assigned, with_bases
from zoo.generated_data import GENERATED
from zoo.shipped import CONFIGS

ABOUT_DATA = ("card", "gates", "train_dataset", "gate_dataset", "calibration_dataset")
ABOUT_TRAINING = (*ABOUT_DATA, "dataset", "checkpoint", "train")  # where a config has training data of its own


def inherited_faults(path: Path, content: Mapping[str, Any]) -> Iterator[str]:
    """The keys that the file `path` has from a shipped config, though they are about data that it has replaced.

    `content`: the file with its bases. A config has data of its own where it sets ``train_dataset``, or replaces a
    generated ``dataset`` by one of another type. A shipped config is never at fault.
    """
    if _is_shipped(path) or not any(map(_is_shipped, (origins := _origins(path)).values())):
        return
    trains = "train_dataset" in content and not _is_shipped(origins.get("train_dataset"))
    if not trains and not _replaces_generated(path, origins, content):
        return
    keys = [key for key in (ABOUT_TRAINING if trains else ABOUT_DATA) if key in content]
    if silent := [key for key in keys if _is_shipped(origins.get(key))]:
        off = ", ".join(f"{key}=None" for key in silent)
        yield f"{_from(silent, origins)}; set those that apply to your data, and switch off the others: {off}"
    if trains and _is_shipped(origins.get("task")) and "classes" in content["task"]:
        yield f"{_from(['task'], origins)}; set task=dict(classes=[dict(name=..., category_id=...), ...])"


def _from(keys: Sequence[str], origins: Mapping[str, Path]) -> str:
    names = ", ".join(f'"{key}"' for key in keys)
    return f"{names} would be inherited from {origins[keys[0]].name}, which describes other data than this config"


def _replaces_generated(path: Path, origins: Mapping[str, Path], content: Mapping[str, Any]) -> bool:
    """Whether ``dataset`` is the config's own, where a shipped config had generated data."""
    dataset = content.get("dataset")
    if not isinstance(dataset, dict) or str(dataset.get("type")) in GENERATED or _is_shipped(origins.get("dataset")):
        return False
    return any(_is_shipped(file) and _type_in(file, "dataset") in GENERATED for file in with_bases(path))


def _origins(path: Path) -> dict[str, Path]:
    """For each key the file that sets it last: the config itself, or the nearest of its bases."""
    return {key: file for file in with_bases(path) for key in assigned(file)}


def _type_in(path: Path, key: str) -> object:
    """The ``type`` that a file's `key=dict(type=...)` has, if it does."""
    value = assigned(path).get(key)
    arguments = {word.arg: word.value for word in value.keywords} if isinstance(value, ast.Call) else {}
    kind = arguments.get("type")
    return kind.value if isinstance(kind, ast.Constant) else None


def _is_shipped(origin: Path | None) -> bool:
    return origin is not None and origin.resolve().is_relative_to(CONFIGS)
