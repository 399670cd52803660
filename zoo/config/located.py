"""Where the paths in a config lead: a relative one starts at the file in which it is written, a base's at the base."""

import ast
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zoo.config.bases import assigned, bases
from zoo.config.reading import read_config
from zoo.shipped import in_repository, shipped_path


def is_address(checkpoint: str | None) -> bool:
    """Whether a checkpoint is to be downloaded (https://, torchvision://): its weights are not shipped."""
    return checkpoint is not None and "://" in checkpoint


def located(config: Path, keys: Sequence[str], value: str) -> Path:
    """The file or folder that a value of a config names; it may be missing.

    A shipped config's starts at its place in the repository: in this checkout, or in the one of ZOOPORT_HOME.
    """
    folder = _file_of(config, keys, value).parent
    inside = in_repository(folder, value)
    return folder / value if inside is None else shipped_path(inside)


def _file_of(config: Path, keys: Sequence[str], value: str) -> Path:
    """The file in which a value is written: the config itself, or the base that it comes from."""
    if not _is_written_in(config, keys[0], value):
        for base in bases(config):
            if _at(read_config(base).to_dict(), keys) == value:
                return _file_of(base, keys, value)
    return config


def _is_written_in(path: Path, key: str, value: str) -> bool:
    """Whether a file gives the value to this key: in its own expression, or by the names that this refers to."""
    expressions, waiting = assigned(path), [key]
    while waiting:
        for node in ast.walk(expressions.pop(waiting.pop(), ast.Tuple([]))):
            if isinstance(node, ast.Constant) and node.value == value:
                return True
            if isinstance(node, ast.Name):
                waiting.append(node.id)
    return False


def _at(content: Mapping[str, Any], keys: Sequence[str]) -> Any:
    value: Any = content
    for key in keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    return value
