"""One cell of a matrix, names that tell models apart, and the cells that a matrix leaves out, each with its reason."""

from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from backends.registry import backends
from pipeline.regression.yaml_fields import Fields
from zoo.errors import nearest
from zoo.target import EXPORTERS, PRECISIONS


@dataclass(frozen=True)
class Cell:
    """A model for one backend, precision and exporter.

    ``config``: the path of its config. ``model``: its name, unique in the matrix. ``excluded``: why it is not run.
    """

    config: str
    model: str
    backend: str
    precision: str
    exporter: str
    excluded: str | None = None

    @property
    def column(self) -> tuple[str, str, str]:
        """Backend, precision, exporter."""
        return self.backend, self.precision, self.exporter

    @property
    def id(self) -> str:
        """Unique in the matrix; fit for a path."""
        return "-".join((self.model, *self.column))


def model_names(configs: Sequence[str]) -> dict[str, str]:
    """Each config's file name without its ending, with as many of its folders before it as it takes to be unique."""
    parts = {config: Path(config).resolve().with_suffix("").parts for config in configs}
    names = {}
    for config, config_parts in parts.items():
        needed = next(
            count
            for count in range(1, len(config_parts) + 1)
            if sum(other[-count:] == config_parts[-count:] for other in parts.values()) == 1
        )
        names[config] = Path(*config_parts[-needed:]).as_posix().lstrip("/")
    return names


KEYS = ("model", "backend", "precision", "exporter", "reason")
LIMITS = ("backend", "precision", "exporter")


@dataclass(frozen=True)
class Exclusion:
    """Which cells: those that agree in all that is given. ``model``: a config's path, a model's name, or a pattern."""

    reason: str
    model: str | None = None
    backend: str | None = None
    precision: str | None = None
    exporter: str | None = None

    def covers(self, cell: Cell) -> bool:
        """Whether it is about this cell."""
        return self._names(cell) and all(getattr(self, key) in (None, getattr(cell, key)) for key in LIMITS)

    def _names(self, cell: Cell) -> bool:
        if self.model is None or any(fnmatchcase(name, self.model) for name in (cell.config, cell.model)):
            return True
        return bool(self.model) and Path(cell.config).match(self.model)  # as a path's last parts: configs/detection/*


def read_exclusions(section: Any, cells: Sequence[Cell], faults: list[str]) -> list[Exclusion]:
    """The list ``exclude`` of a matrix file. One that covers none of the matrix's ``cells`` is a fault, too."""
    if not isinstance(section, list):
        faults.append(f'"exclude": expected a list of {{model:, exporter:, reason:}}, got {section!r}')
        return []
    exclusions = []
    for number, entry in enumerate(section):
        where = f"exclude[{number}]"
        if not isinstance(entry, dict):
            faults.append(f'"{where}": expected {{model:, exporter:, reason:}}, got {entry!r}')
        elif exclusion := _read(entry, where, cells, faults):
            exclusions.append(exclusion)
    return exclusions


def _read(entry: dict[Any, Any], where: str, cells: Sequence[Cell], faults: list[str]) -> Exclusion | None:
    before = len(faults)
    fields = Fields(entry, KEYS, faults, f"{where}.")
    values = {key: fields.word(key) for key in KEYS}
    reason = values.pop("reason")
    if entry.get("reason") is None:
        fields.fault("reason", "is missing: say why, the table shows it")
    names = {"backend": tuple(backends()), "precision": PRECISIONS, "exporter": EXPORTERS}
    for key, known in names.items():
        value = values[key]
        if value is not None and value not in known:
            fields.fault(key, f'unknown "{value}"; {nearest(value, known)}')
    if not any(values.values()):
        faults.append(f'"{where}": names no cells; give one or more of {", ".join(KEYS[:-1])}')
    if reason is None or len(faults) > before:
        return None
    exclusion = Exclusion(" ".join(reason.split()), **values)
    if not cells or any(map(exclusion.covers, cells)):  # no cells: the fault lies elsewhere in the file
        return exclusion
    hint = f"; {nearest(exclusion.model, sorted({cell.model for cell in cells}))}" if exclusion.model else ""
    faults.append(f'"{where}": covers no cell of the matrix; correct or remove it{hint}')
    return None
