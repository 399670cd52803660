"""What a cell's result depends on, so that it is taken up again only where all of that is the same.

Covered: the cell, the number of images and which split; the config with its bases, and the modules beside
it that it imports, and those that they import in turn; the checkpoint, where it is a file
(a download is named by its hash); the Python sources of the packages; the versions of Python and of what
zooport requires. Not covered: the data set's files, the machine, and the time limit.
"""

import hashlib
import json
import platform
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, requires
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

import zoo
from pipeline.regression.matrix import Matrix
from zoo.config import load_config
from zoo.errors import InputError
from zoo.installed_versions import installed_versions as of_packages

PACKAGES = ("zoo", "rewriters", "backends", "pipeline", "zooport")


def fingerprints(matrix: Matrix, versions: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """By the cells' ids, as plain JSON types."""
    shared = {
        "images": [matrix.limit, "gate split" if matrix.gate_split else "data set"],
        "sources": _sources(),
        "versions": dict(versions),
    }
    configs = {config: _config(config) for config in {cell.config for cell in matrix.cells}}
    return {
        cell.id: {**shared, "cell": [cell.config, *cell.column], "config": configs[cell.config]}
        for cell in matrix.cells
    }


def _config(path: str) -> str:
    """The hash of a config with its bases, and of its checkpoint; where it has faults, of the file and the faults."""
    try:
        config = load_config(path)
        modules = config.source_hashes()
    except InputError as error:
        return _digest([Path(path).read_bytes(), str(error).encode()])
    parts = [json.dumps(content, sort_keys=True, default=repr).encode() for content in (config.content, modules)]
    if config.checkpoint is not None and (file := Path(config.weights or "")).is_file():
        parts.append(file.read_bytes())
    return _digest(parts)


def _sources() -> str:
    root = Path(zoo.__file__).parents[1]
    folders = [root / package for package in PACKAGES]
    return _digest(path.read_bytes() for folder in folders for path in sorted(folder.rglob("*.py")))


def _digest(parts: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part).digest())  # so that two parts differ from one that holds both
    return digest.hexdigest()


DISTRIBUTION = "zooport"
DEVELOPERS = "dev"  # an extra that no figure depends on


def installed_versions() -> dict[str, str]:
    """Of Python, zooport and what it requires with all extras but the developers'; without what is not installed."""
    versions = {"python": platform.python_version()}
    try:
        required = [Requirement(line) for line in requires(DISTRIBUTION) or ()]
    except PackageNotFoundError:
        required = []
    names = [entry.name for entry in required if not (entry.marker and f'"{DEVELOPERS}"' in str(entry.marker))]
    return versions | of_packages((DISTRIBUTION, *names))
