"""A section of a matrix file, read key by key; faults are collected, not raised."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from zoo.errors import nearest


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
        self.fault(key, f"expected words, got {value!r}")
        return None

    def whole_number(self, key: str) -> int | None:
        """1 or more; None where there is none."""
        value = self.section.get(key)
        if value is None or (type(value) is int and value >= 1):
            return value
        self.fault(key, f"expected a whole number, 1 or more, got {value!r}")
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
