"""A matrix file: which models, for what, on how many images.

    models: [configs/**/*.py]               # paths or patterns; _base_ folders are left out
    backends: [onnxruntime]
    precisions: [fp32]
    exporters: [dynamo, torchscript]
    limit: 64                               # images of an evaluation; all where it is not given
    gate_split: false                       # evaluate on each config's gate_dataset
    timeout_seconds: 3600                   # of a cell
    exclude:
      - {model: fcn_r18_digits, exporter: dynamo, reason: "words for the table"}

Paths are relative to the matrix file; `configs/...` that is not there is of the shipped configs, and a bare name is one
of these. All but ``models`` may be left out; but for ``limit`` and ``exclude``, what
stands here are the defaults.
"""

import glob
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

from backends.registry import backends
from pipeline.regression.cell import Cell, Exclusion, model_names, read_exclusions
from pipeline.regression.yaml_fields import Fields, read_yaml
from zoo.config.names import find_config
from zoo.errors import InputError, nearest
from zoo.shipped import CONFIGS, SHIPPED, shipped_file
from zoo.target import DEFAULT_BACKEND, EXPORTERS, PRECISIONS, REFERENCE_BACKEND

KEYS = ("models", "backends", "precisions", "exporters", "limit", "gate_split", "timeout_seconds", "exclude")
DEFAULT_TIMEOUT = 3600
MATRICES, SUFFIX = "regression", ".yaml"  # of the shipped ones: the folder in configs/


@dataclass(frozen=True)
class Matrix:
    """``cells``: model by model, those that are excluded, too. ``limit``: images, None for all."""

    name: str
    cells: tuple[Cell, ...]
    limit: int | None = None
    gate_split: bool = False
    timeout_seconds: int = DEFAULT_TIMEOUT

    @property
    def models(self) -> tuple[str, ...]:
        """Their names, in order."""
        return tuple(dict.fromkeys(cell.model for cell in self.cells))

    @property
    def columns(self) -> tuple[tuple[str, str, str], ...]:
        """Each (backend, precision, exporter), in order."""
        return tuple(dict.fromkeys(cell.column for cell in self.cells))


def load_matrix(path: str | Path) -> Matrix:
    """Read and check a matrix file. Raises InputError with all faults in one message."""
    file = _file(Path(path))
    section = read_yaml(file)
    if not isinstance(section, dict):
        raise InputError(f'matrix {path}: expected a mapping with the key "models", got {section!r}')
    faults: list[str] = []
    fields = Fields(section, KEYS, faults)
    configs = _configs(fields, file.parent)
    requested = fields.words("backends", (DEFAULT_BACKEND,), tuple(backends()))
    if REFERENCE_BACKEND in requested:
        fields.fault("backends", f"{REFERENCE_BACKEND} is the reference that every cell is compared with; leave it out")
    precisions = fields.words("precisions", ("fp32",), PRECISIONS)
    exporters = fields.words("exporters", EXPORTERS, EXPORTERS)
    names = model_names(configs)
    cells = [
        Cell(config, names[config], *column)
        for config in configs
        for column in product(requested, precisions, exporters)
    ]
    excluded = [] if section.get("exclude") is None else read_exclusions(section["exclude"], cells, faults)
    matrix = Matrix(
        file.stem,
        tuple(_marked(cell, excluded) for cell in cells),
        fields.whole_number("limit"),
        fields.flag("gate_split"),
        fields.whole_number("timeout_seconds") or DEFAULT_TIMEOUT,
    )
    if faults:
        raise InputError(f"matrix {path}: {'; '.join(faults)}")
    return matrix


def _file(path: Path) -> Path:
    """The matrix of a path, or of the shipped ones that of a bare name or of `configs/...`."""
    named = CONFIGS / MATRICES / f"{path.stem}{SUFFIX}"
    shipped = named if path.parent == Path() and path.suffix in ("", SUFFIX) else shipped_file(path)
    if path.is_file() or shipped is None or not shipped.is_file():
        shipped = path
    if not shipped.is_file():
        matrices = sorted((CONFIGS / MATRICES).glob(f"*{SUFFIX}"))
        names = [file.stem if path.parent == Path() else str(SHIPPED / MATRICES / file.name) for file in matrices]
        names += [str(path.parent / file.name) for file in sorted(path.parent.glob(f"*{SUFFIX}"))]
        raise InputError(f"matrix {path}: no such file; {nearest(str(path), names)}")
    return shipped


def _configs(fields: Fields, folder: Path) -> list[str]:
    """The paths of the key ``models``, patterns resolved; each config once."""
    if "models" not in fields.section:
        fields.fault("models", "is missing: list paths of configs, or patterns such as configs/**/*.py")
        return []
    paths: dict[Path, str] = {}
    for entry in fields.words("models"):
        for path in _matching(entry, fields, folder):
            paths.setdefault(Path(path).resolve(), path)
    return list(paths.values())


def _matching(entry: str, fields: Fields, folder: Path) -> list[str]:
    if (folder / entry).is_file() and Path(entry).suffix != ".py":
        fields.fault("models", f'"{entry}" is not a config; expected a file that ends in .py')
        return []
    if (folder / entry).is_file() or not glob.has_magic(entry):
        try:
            return [str(find_config(entry, folder))]
        except InputError as error:
            fields.fault("models", str(error))
            return []
    paths = _pattern(str(folder / entry))
    if not paths and Path(entry).parts[0] == SHIPPED.name:
        paths = _pattern(str(CONFIGS / Path(entry).relative_to(SHIPPED)))
    if not paths:
        fields.fault("models", f'no config matches "{entry}" in {folder.resolve()}')
    return paths


def _pattern(pattern: str) -> list[str]:
    matching = sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207  # Path.glob takes no absolute pattern
    return [path for path in matching if path.endswith(".py") and "_base_" not in Path(path).parts]


def _marked(cell: Cell, exclusions: Sequence[Exclusion]) -> Cell:
    """With the reason of the first exclusion that covers it."""
    reason = next((exclusion.reason for exclusion in exclusions if exclusion.covers(cell)), None)
    return replace(cell, excluded=reason)
