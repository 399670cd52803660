"""A folder that a library wrote with its save_pretrained: config.json, and the weights beside it."""

import json
from collections.abc import Mapping
from keyword import iskeyword
from pathlib import Path
from typing import Any

from zoo.errors import InputError
from zoo.files.json_object import json_object
from zoo.own_model.request import ModelRequest

CONFIG = "config.json"
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
KINDS = {int: "an integer", str: "a string", list: "a list", dict: "an object"}
INDEXES = ("model.safetensors.index.json", "pytorch_model.bin.index.json")  # of weights in several files


def folder_config(source: str) -> Mapping[str, Any] | None:
    """What config.json in a folder holds; None where there is none. Raises InputError where it is no JSON object."""
    path = Path(source) / CONFIG
    if not path.is_file():
        return None
    return json_object(path.read_bytes(), str(path), "give the folder that model.save_pretrained(folder) wrote")


def check_fields(fields: Mapping[str, Any], kinds: Mapping[str, type], place: str) -> None:
    """Raises InputError for a field of another kind than expected; one that is not there, or is null, is no fault."""
    for name, kind in kinds.items():
        value = fields.get(name)
        if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
            got = json.dumps(value)
            raise InputError(f'{place}: "{name}" is {got}, expected {KINDS[kind]}; correct it')


def foreign_arguments(arguments: Mapping[str, Any], place: str) -> dict[str, Any]:
    """Arguments of a model that a file of another library names, fit for a config's section.

    Raises InputError for a key that a config would read as something else: "type" names code to import, and names that
    start with an underscore are mmengine's own.
    """
    for name, value in arguments.items():
        if not _is_argument(name):
            raise InputError(
                f"{place}: {json.dumps(name, default=str)} is not the name of an argument; a config does not take it"
            )
        for entry in value if isinstance(value, list) else [value]:
            if isinstance(entry, dict):
                foreign_arguments(entry, f"{place}: {name}")
    return dict(arguments)


def _is_argument(name: object) -> bool:
    return (
        isinstance(name, str)
        and name.isidentifier()
        and not iskeyword(name)
        and not name.startswith("_")
        and name != "type"
    )


def folder_weights(request: ModelRequest) -> Path:
    """The weights of a request, else those in its folder. Raises InputError where there are none."""
    if request.weights is not None:
        return request.weights
    folder = Path(request.source)
    for name in WEIGHTS:
        if (folder / name).is_file():
            return folder / name
    if index := next((folder / name for name in INDEXES if (folder / name).is_file()), None):
        raise InputError(
            f"{index}: the weights are in several files; save them in one with model.save_pretrained(folder, "
            'max_shard_size="100GB")'
        )
    raise InputError(f"{folder}: no {' or '.join(WEIGHTS)}; give --weights FILE")


def folder_out(source: str) -> Path:
    """Where the config of a folder's model goes: beside the current folder's files, by the folder's name."""
    return Path(f"{Path(source).resolve().name}.py")
