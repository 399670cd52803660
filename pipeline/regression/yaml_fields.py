"""A YAML file without doubled keys, and its fields, whose faults are collected."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml

from zoo.errors import InputError, nearest


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


class Fields:
    """``where``: what stands before a key in messages, such as ``exclude[0].``. Faults are added to ``faults``."""

    def __init__(self, section: Mapping[Any, Any], known: Iterable[str], faults: list[str], where: str = "") -> None:
        self.section = section
        self.faults = faults
        self.where = where
        known = tuple(known)
        unknown = [str(key) for key in section if key not in known]
        faults.extend(f'unknown key "{where}{key}"; {nearest(key, known)}' for key in unknown)

    def words(self, key: str, default: Sequence[str] = (), known: Sequence[str] = ()) -> tuple[str, ...]:
        """A list of strings, at least one, each once; of ``known`` ones, where there are some."""
        value = self.section.get(key, default)
        if not isinstance(value, list | tuple) or not all(isinstance(entry, str) for entry in value):
            hint = f"; write [{value}]" if isinstance(value, str) else ""
            self.fault(key, f"expected a list of strings, got {value!r}{hint}")
            return ()
        if not value:
            self.fault(key, "expected one or more, got none")
        wrong = [entry for entry in value if known and entry not in known]
        for entry in wrong:
            self.fault(key, f'unknown "{entry}"; {nearest(entry, known)}')
        return tuple(dict.fromkeys(entry for entry in value if entry not in wrong))

    def word(self, key: str) -> str | None:
        """A string that is not blank; None where there is none."""
        value = self.section.get(key)
        if value is None or (isinstance(value, str) and value.strip()):
            return value
        self.fault(key, f"expected text, got {value!r}")
        return None

    def whole_number(self, key: str) -> int | None:
        """1 or more; None where there is none."""
        value = self.section.get(key)
        if value is None or (type(value) is int and value >= 1):
            return value
        self.fault(key, f"expected an integer, 1 or more, got {value!r}")
        return None

    def flag(self, key: str) -> bool:
        """False where it is not given."""
        value = self.section.get(key, False)
        if not isinstance(value, bool):
            self.fault(key, f"expected true or false, got {value!r}")
        return value is True

    def fault(self, key: str, words: str) -> None:
        """One more."""
        self.faults.append(f'"{self.where}{key}": {words}')
