"""Putting a split in its place whole, and never in the place of anything else."""

import json
from pathlib import Path

from zoo.datasets.digits.split import write_split
from zoo.datasets.files.whole_folder import replace_folder
from zoo.errors import InputError
from zoo.progress import Progress


def replace_split(split: str, folder: Path, count: int, progress: Progress | None = None) -> None:
    """Writes images 0 to count - 1 of a split, and puts them in the place of whatever `folder` is.

    See `replace_folder`. `progress` is called with (the split, images done, images in all).
    """
    replace_folder(folder, lambda staged: write_split(split, staged, count), f"{split} split", count, progress)


def check_replaceable(folder: Path) -> None:
    """Raises InputError where `folder` holds anything but a whole split of the digits: it would be lost."""
    for path in (folder, *folder.parents):
        if path.exists() and not path.is_dir():
            raise InputError(f"{path}: this is a file, expected a folder; give another --out")
    ours = _files(folder)
    for path in folder.rglob("*"):
        if path not in ours and (path.is_symlink() or not path.is_dir()):
            raise InputError(
                f"{folder} holds {path.relative_to(folder)}, which does not belong to a split of the digits and "
                "would be lost; remove it, or give another --out"
            )


def _files(folder: Path) -> set[Path]:
    """The files of the split that `write_split` has written to a folder; none where it has not."""
    annotations = folder / "annotations.json"
    try:
        document = json.loads(annotations.read_text(encoding="utf-8"))
        if not document["info"]["description"].startswith("zooport digits"):
            return set()
        stems = [Path(record["file_name"]).stem for record in document["images"]]
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return set()
    kinds = (("images", "jpg"), ("label_maps", "png"))
    return {annotations, *(folder / kind / f"{stem}.{suffix}" for stem in stems for kind, suffix in kinds)}
