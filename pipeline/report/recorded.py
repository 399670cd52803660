"""A deployment as it lies on the disk: what its files say, without running anything."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from pipeline.publishing.own_files import PARITY_FILE, PREVIEWS
from zoo.errors import InputError
from zoo.files.json_object import json_object
from zoo.manifest import Manifest
from zoo.opened_file import OpenedFile
from zoo.opened_folder import MANIFEST_FILE, Folder, OpenedFolder, read_whole

PARITY_BYTES = 2**28  # many times what a thousand images take
T = TypeVar("T")


class Timing(NamedTuple):
    """Medians of one call in milliseconds, of the backend and of the reference, PyTorch, both with ``batch`` images."""

    backend: float
    reference: float
    batch: int


@dataclass(frozen=True)
class Recorded:
    """``parity``: the content of parity.json. ``previews``: the names of the images.

    ``opened``: where other files are read from, while the folder is open.
    """

    folder: Path
    manifest: Manifest
    parity: Mapping[str, Any]
    previews: Sequence[str]
    opened: OpenedFolder

    def share(self, kind: str) -> float | None:
        """How much of its gate the worst figure of a comparison takes; None where no gate judges it."""
        figures = self.parity.get("summary", {}).get(kind, {}).get("figures", ())
        shares = [
            float("inf") if figure["max_error"] is None else figure["max_error"] / figure["gate"]
            for figure in figures
            if figure["gate"] is not None and figure["gate"] > 0  # decibels have no part
        ]
        return max(shares, default=None)

    @property
    def metric(self) -> Mapping[str, Any] | None:
        """What decided below fp32, of the deployment itself; None for fp32, and where there was nothing to judge."""
        figures: list[Mapping[str, Any]] | None = self.parity.get("metric")
        if not isinstance(figures, list) or None in (figures[0]["value"], figures[0]["reference"]):
            return None
        return figures[0]

    @property
    def latency(self) -> Timing | None:
        """What the deploy measured; None where the backend could not run there."""
        rows = {str(row["name"]).partition(",")[0]: row for row in self.parity.get("latency", ())}
        own, eager = rows.get(self.manifest.backend), rows.get("PyTorch")
        return None if own is None or eager is None else Timing(own["p50"], eager["p50"], own["batch"])

    @property
    def deployed(self) -> str | None:
        """When, ISO 8601 in UTC; None where the deploy did not record it."""
        return self.parity.get("deployed")

    def preview(self, name: str) -> OpenedFile:
        """One of the images."""
        return self.opened.file(f"{PREVIEWS}/{name}")

    @property
    def bytes(self) -> int:
        """Of all files that the runtime loads."""
        return sum(int(file["bytes"]) for file in self.manifest.files.values())


def read_recorded(folder: Folder) -> Recorded:
    """Raises InputError where the folder is no deployment, or one of its two records cannot be read."""
    return read_whole(folder, _recorded)


def _recorded(folder: OpenedFolder) -> Recorded:
    manifest = Manifest.read(folder)
    file = folder.file(PARITY_FILE)
    parity = json_object(file.read(PARITY_BYTES), str(file.path), "deploy the model again with zooport deploy")
    previews = [name for name in folder.names(PREVIEWS) if name.endswith(".png")]
    return Recorded(folder.path, manifest, parity, previews, folder)


def find_recorded(folder: str | Path, look: Callable[[Recorded], T]) -> tuple[list[tuple[Recorded, T]], list[str]]:
    """All deployments under a folder, by task, name and place, and why others cannot be read.

    ``look``: what is wanted of each, while its folder is held open. Folders whose names begin with a dot are left out:
    a deploy that still runs fills one. Raises InputError where there is nothing at all.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"{root}: no such folder; give the --work-dir of zooport deploy")
    deployments: list[tuple[Recorded, T]] = []
    faults = []
    for path in sorted(root.rglob(MANIFEST_FILE)):
        if any(part.startswith(".") for part in path.relative_to(root).parts):
            continue
        try:
            deployments.append(read_whole(path.parent, lambda held: _and_look(_recorded(held), look)))
        except InputError as error:
            faults.append(str(error))
    if not deployments and not faults:
        raise InputError(f"{root}: no deployment in it or below it; make one with zooport deploy")
    return sorted(deployments, key=lambda pair: _order(pair[0])), faults


def _and_look(one: Recorded, look: Callable[[Recorded], T]) -> tuple[Recorded, T]:
    try:
        return one, look(one)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        file = one.folder / PARITY_FILE
        raise InputError(
            f"{file}: not in the form that a deploy writes ({type(error).__name__}: {error}); deploy again"
        ) from error


def _order(one: Recorded) -> tuple[str, str, str]:
    return one.manifest.task, one.manifest.name, str(one.folder)
