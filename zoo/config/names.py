"""Finding a config by its path or its name. Light: the standard library alone."""

from pathlib import Path

from zoo.errors import InputError, nearest
from zoo.listing import list_models
from zoo.shipped import CONFIGS, SHIPPED, shipped_file

SUFFIX = ".py"


def find_config(source: str | Path, folder: Path = Path()) -> Path:
    """The file of a config: a path in `folder`, or of the shipped ones a bare name (`fcn_r18_digits`) or `configs/...`.

    Raises InputError, with the nearest names.
    """
    if (path := folder / source).is_file():
        return path
    if (shipped := shipped_file(source)) is not None and shipped.suffix == SUFFIX:
        return shipped
    named = [known for known in map(Path, list_models()) if str(source) in (known.stem, known.name)]
    if named:
        return named[0]
    raise InputError(f"config {source}: no such file; {nearest(str(source), _known(Path(source), folder))}")


def config_names() -> list[str]:
    """The bare names of the shipped configs, sorted."""
    return sorted(Path(path).stem for path in list_models())


def _known(path: Path, folder: Path) -> list[str]:
    """What may have been meant: shipped configs, in the form that was asked for, and files beside the missing one."""
    shipped = [Path(known) for known in list_models()]
    if path.parent == Path():
        suffix = SUFFIX if path.suffix == SUFFIX else ""
        known = [f"{file.stem}{suffix}" for file in shipped]
    else:
        known = [str(SHIPPED / file.relative_to(CONFIGS)) for file in shipped]
    beside = sorted((folder / path).parent.glob(f"*{SUFFIX}"))
    return list(dict.fromkeys([*known, *(str(path.parent / file.name) for file in beside)]))
