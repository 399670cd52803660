"""One cell of a matrix, and names that tell models apart."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


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
    for config, own in parts.items():
        needed = next(
            count
            for count in range(1, len(own) + 1)
            if sum(other[-count:] == own[-count:] for other in parts.values()) == 1
        )
        names[config] = Path(*own[-needed:]).as_posix().lstrip("/")
    return names
