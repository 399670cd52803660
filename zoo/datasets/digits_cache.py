"""Where the splits of the digits lie: `val` is shipped, the others are made once into the user's cache."""

import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from zoo.datasets.digits_scene import SPLITS, VERSION
from zoo.errors import InputError, nearest

DIGITS_ROOT = Path(__file__).resolve().parent.parent / "data" / "digits"
SHIPPED = "val"
ANNOTATIONS = "annotations.json"  # written last: a folder that has it is whole


def cache_root() -> Path:
    """$XDG_CACHE_HOME/zooport/digits-<version>, or the same in ~/.cache; a relative $XDG_CACHE_HOME does not count."""
    named = Path(os.environ.get("XDG_CACHE_HOME", ""))
    base = named if named.is_absolute() else Path.home() / ".cache"
    return base / "zooport" / f"digits-{VERSION}"


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
        out = "" if root is None else f" --out {folder.parent}"
        raise InputError(f'digits split "{split}": no {path}; make it with python tools/make_digits.py {split}{out}')
    return folder


def ensure_split(split: str, progress: Callable[[int, int], None] | None = None) -> Path:
    """The folder of a split, made first where it is not there. `progress` is told (images done, images in all).

    It is written beside its place and renamed into it, so that a killed run leaves nothing that looks whole; a second
    process waits for the first and takes what that has made. Needs the extra "train" where it must be made. Raises
    InputError for an unknown split, OSError where the cache cannot be written.
    """
    folder = split_folder(split)
    if (folder / ANNOTATIONS).is_file():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with (folder.parent / f".{split}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # the kernel releases it when its holder dies, however it does
        if not (folder / ANNOTATIONS).is_file():
            _make(split, folder, progress)
    return folder


def _make(split: str, folder: Path, progress: Callable[[int, int], None] | None) -> None:
    from zoo.datasets.digits_split import SPLIT_SIZES, write_split

    prefix = f".{split}-"
    for left_over in folder.parent.glob(f"{prefix}*"):  # of killed runs: we hold the lock
        shutil.rmtree(left_over)
    with tempfile.TemporaryDirectory(prefix=prefix, dir=folder.parent) as temporary:
        made = Path(temporary) / split
        count = SPLIT_SIZES[split]
        for index in write_split(split, made, count):
            if progress is not None:
                progress(index + 1, count)
        if folder.exists():  # without its annotations: somebody's half
            shutil.rmtree(folder)
        made.rename(folder)
