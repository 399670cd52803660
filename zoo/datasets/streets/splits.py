"""Where the splits of the streets are: `shipped` is in the repository, `gate` is made once into the user's cache."""

from pathlib import Path

from zoo.cache_folder import cache_folder
from zoo.datasets.files.whole_folder import ensure_folder
from zoo.datasets.streets.scene import VERSION
from zoo.datasets.streets.stored import SCENES, write_scenes
from zoo.errors import InputError, nearest
from zoo.progress import Progress
from zoo.shipped import shipped_path, whereabouts

SHIPPED, GATE, TRAIN = "shipped", "gate", "train"
SIZES = {SHIPPED: 16, GATE: 512}
STREETS_ROOT = shipped_path("zoo/data/streets")
MAKE = "python tools/make_streets.py"


def split_folder(split: str) -> Path:
    """The folder of a stored split. It need not be there. Raises InputError for a name that no split has."""
    if split not in SIZES:
        raise InputError(f'unknown split "{split}" of streets; {nearest(split, (*SIZES, TRAIN))}')
    return (STREETS_ROOT if split == SHIPPED else cache_folder() / f"streets-{VERSION}") / split


def existing_split(split: str) -> Path:
    """The folder of a split that is there. Raises InputError that says how to make one that is not."""
    folder = split_folder(split)
    if not (folder / SCENES).is_file():
        hint = whereabouts(folder / SCENES) or f"; make it with {MAKE} {split}"
        raise InputError(f'streets split "{split}": no {folder / SCENES}{hint}')
    return folder


def ensure_split(split: str, progress: Progress | None = None) -> Path:
    """The folder of a split, made first where it is not there. `progress` counts scenes.

    Raises InputError for an unknown split, and where the cache cannot be written.
    """
    folder, count = split_folder(split), SIZES[split]
    try:
        ensure_folder(
            folder, SCENES, lambda staged: write_scenes(split, staged, count), f"{split} split", count, progress
        )
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written: {error.strerror}; set XDG_CACHE_HOME to a folder that can"
        ) from error
    return folder
