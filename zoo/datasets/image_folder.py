"""Images without a truth."""

import glob
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path, PurePath
from typing import Any, ClassVar

from zoo.datasets.evaluation_dataset import EvaluationDataset, ImageEntry
from zoo.datasets.files.faults import Faults
from zoo.datasets.files.folder_files import files_below
from zoo.datasets.files.image_files import check_header
from zoo.errors import InputError
from zoo.input_kinds.image.reading import SUFFIXES
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo

ANY_DEPTH = "**"


@DATASETS.register_module()
class ImageFolder(EvaluationDataset):
    """The images of the folder `root` whose path in it matches the glob `pattern`, in the order of their paths.

    "**/*" takes those of folders in it, too, links to folders included. Files with other suffixes than those of images
    are passed over. Images are turned upright by their orientation tag. An item has no truth; "image_id" is the
    position.
    """

    upright: ClassVar[bool] = True

    def __init__(self, root: str | Path, pattern: str = "*", *, classes: Sequence[ClassInfo]) -> None:
        self.root, self.pattern = Path(root), pattern
        super().__init__(classes=classes)

    def _index(self, faults: Faults) -> list[ImageEntry]:
        if not self.root.is_dir():
            faults.missing(self.root, "folder")
            return []
        try:
            paths = sorted(path for path in self._files() if path.suffix.lower() in SUFFIXES)
        except (ValueError, NotImplementedError) as error:
            raise InputError(
                f'ImageFolder: pattern "{self.pattern}": {error}; give a glob such as "**/*.jpg"'
            ) from error
        if not paths:
            faults.add(
                self.root, f'no images match pattern "{self.pattern}", expected one or more of {", ".join(SUFFIXES)}'
            )
        entries: list[ImageEntry] = []
        for path in paths:
            header = check_header(path, faults)
            if header is not None:
                entries.append(ImageEntry(path, len(entries), header.size))
        return entries

    def _files(self) -> Iterator[Path]:
        pattern = PurePath(self.pattern)
        parts = pattern.parts
        if ANY_DEPTH not in parts or ".." in parts or pattern.is_absolute():
            return self.root.glob(self.pattern)
        named = parts[: next(place for place, part in enumerate(parts) if glob.has_magic(part))]
        files = files_below(self.root.joinpath(*named))
        return (path for path in files if _matches(path.relative_to(self.root).parts, parts))

    def _truth(self, _: int) -> dict[str, Any]:
        return {}


def _matches(parts: Sequence[str], pattern: Sequence[str]) -> bool:
    """Whether the parts of a path are those of a glob."""
    if not pattern:
        return not parts
    if pattern[0] == ANY_DEPTH:
        return any(_matches(parts[start:], pattern[1:]) for start in range(len(parts) + 1))
    return bool(parts) and fnmatch(parts[0], pattern[0]) and _matches(parts[1:], pattern[1:])
