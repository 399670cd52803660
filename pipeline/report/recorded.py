"""A deployment as it lies on the disk: what its files say, without running anything."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pipeline.own_files import PARITY_FILE, PREVIEWS
from zoo.errors import InputError
from zoo.manifest import MANIFEST_FILE, Manifest


@dataclass(frozen=True)
class Recorded:
    """``parity``: the content of parity.json. ``previews``: the pictures by their names."""

    folder: Path
    manifest: Manifest
    parity: Mapping[str, Any]
    previews: Mapping[str, Path]

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
        """What decided below fp32, of the deployment itself; None for fp32, and where nothing was measured."""
        found = self.parity.get("metric")
        return found[0] if isinstance(found, list) else None

    @property
    def bytes(self) -> int:
        """Of all files that the runtime loads."""
        return sum(int(file["bytes"]) for file in self.manifest.files.values())


def read_recorded(folder: str | Path) -> Recorded:
    """Raises InputError where the folder is no deployment, or one of its two records cannot be read."""
    folder = Path(folder)
    manifest = Manifest.read(folder)
    path = folder / PARITY_FILE
    again = "deploy the model again with tools/deploy.py"
    try:
        parity = json.loads(path.read_bytes())
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); {again}") from error
    except ValueError as error:
        raise InputError(f"{path}: not a JSON file ({error}); {again}") from error
    if not isinstance(parity, dict):
        raise InputError(f"{path}: got a JSON {type(parity).__name__}, expected an object; {again}")
    return Recorded(folder, manifest, parity, {path.name: path for path in sorted((folder / PREVIEWS).glob("*.png"))})


def find_recorded(folder: str | Path) -> tuple[list[Recorded], list[str]]:
    """All deployments under a folder, by task, name and place, and why others cannot be read.

    Folders whose names begin with a dot are left out: a deploy that still runs fills one. Raises InputError where there
    is nothing at all.
    """
    root = Path(folder)
    if not root.is_dir():
        raise InputError(f"{root}: no such folder; give the one that tools/deploy.py got as --work-dir")
    found, faults = [], []
    for path in sorted(root.rglob(MANIFEST_FILE)):
        if any(part.startswith(".") for part in path.relative_to(root).parts):
            continue
        try:
            found.append(read_recorded(path.parent))
        except InputError as error:
            faults.append(str(error))
    if not found and not faults:
        raise InputError(f"{root}: no deployment in it or below it; make one with tools/deploy.py")
    return sorted(found, key=lambda one: (one.manifest.task, one.manifest.name, str(one.folder))), faults
