"""YAML in which a key that is given twice is a fault; plain YAML would take the last one and say nothing."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from zoo.errors import InputError


def read_yaml(path: Path) -> Any:
    """What a YAML file holds, in plain types. Raises InputError with the line at fault."""
    try:
        text = path.read_bytes()
        root = yaml.compose(text, Loader=yaml.SafeLoader)
        content = yaml.safe_load(text)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from error
    except yaml.MarkedYAMLError as error:
        where = f", line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise InputError(f"{path}{where}: {error.problem}") from error
    except yaml.YAMLError as error:
        raise InputError(f"{path}: not a YAML file ({' '.join(str(error).split())})") from error
    if doubled := [f'"{key.value}" (line {key.start_mark.line + 1})' for key in _doubled(root, set())]:
        raise InputError(f"{path}: keys are given twice: {', '.join(doubled)}; keep one of each")
    return content


def _doubled(node: Any, seen: set[int]) -> Iterator[Any]:
    """The nodes of all keys that their mapping already has. ``seen``: an alias may lead back to where it stands."""
    if not isinstance(node, yaml.CollectionNode) or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        keys = [key.value for key, _ in node.value]
        yield from (key for number, (key, _) in enumerate(node.value) if key.value in keys[:number])
    for child in node.value:
        for part in child if isinstance(child, tuple) else (child,):
            yield from _doubled(part, seen)
