"""Where the splits of the digits lie: `val` is shipped, the others are made once into the user's cache."""

from pathlib import Path

from zoo.cache_folder import cache_folder
from zoo.datasets.digits.scene import SPLITS, VERSION
from zoo.datasets.files.whole_folder import ensure_folder
from zoo.errors import InputError, nearest
from zoo.progress import Progress
from zoo.shipped import shipped_path, whereabouts

DIGITS_ROOT = shipped_path("zoo/data/digits")
SHIPPED = "val"
ANNOTATIONS = "annotations.json"  # written last: a folder that has it is whole


def cache_root() -> Path:
    """$XDG_CACHE_HOME/zooport/digits-<version>, or the same in ~/.cache; a relative $XDG_CACHE_HOME does not count.

    Raises InputError where there is no home, or a relative one.
    """
    return cache_folder() / f"digits-{VERSION}"


def split_folder(split: str, root: str | Path | None = None) -> Path:
    """The folder of a split: in `root`, or where it is shipped or cached. It need not be there.

    Raises InputError for a name that no split has, where there is no `root`.
    """
    if root is not None:
        return Path(root) / split
    if split not in SPLITS:
        raise InputError(f'unknown split "{split}" of digits; {nearest(split, SPLITS)}')
    return (DIGITS_ROOT if split == SHIPPED else cache_root()) / split


def existing_split(split: str, root: str | Path | None = None) -> Path:
    """The folder of a split that has been made. Raises InputError that says how to make one that has not."""
    folder = split_folder(split, root)
    path = folder / ANNOTATIONS
    if not path.is_file():
        if elsewhere := whereabouts(path):
            raise InputError(f'digits split "{split}": no {path}{elsewhere}')
        out = "" if root is None else f" --out {folder.parent}"
        raise InputError(f'digits split "{split}": no {path}; make it with python tools/make_digits.py {split}{out}')
    return folder


def ensure_split(split: str, progress: Progress | None = None) -> Path:
    """The folder of a split, made first where it is not there. `progress` counts images.

    A killed run leaves nothing that looks whole; a second process waits for the first and takes what that has made.
    Needs the extra "train" where it must be made. Raises InputError for an unknown split, and where the cache cannot
    be written.
    """
    folder = split_folder(split)
    if (folder / ANNOTATIONS).is_file():
        return folder
    from zoo.datasets.digits.split import SPLIT_SIZES, write_split

    count = SPLIT_SIZES[split]
    try:
        ensure_folder(
            folder, ANNOTATIONS, lambda staged: write_split(split, staged, count), f"{split} split", count, progress
        )
    except OSError as error:
        raise InputError(
            f"{folder} cannot be written: {error.strerror}; set XDG_CACHE_HOME to a folder that can, or make the split "
            f"elsewhere with python tools/make_digits.py {split} --out DIR and give the data set root=DIR"
        ) from error
    return folder
