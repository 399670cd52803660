"""Images in a folder for each class, as ImageNet's validation images are usually kept."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

from zoo.datasets.class_labels import labels_by_name
from zoo.datasets.evaluation_dataset import EvaluationDataset, ImageEntry
from zoo.datasets.files.faults import Faults
from zoo.datasets.files.image_files import check_header
from zoo.datasets.files.image_list import listed
from zoo.errors import nearest
from zoo.input_kinds.image.reading import SUFFIXES
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo


@DATASETS.register_module()
class ClassFolders(EvaluationDataset):
    """`root/<name of a class>/<image>`: the images of each class, in the order of the classes, then of their names.

    An item's truth: "label", the model's own id. A class may have no folder; a folder that is no class's is a fault, as
    is a root without images. Files with other suffixes than those of images are passed over. Images are turned
    upright by their orientation tag. "image_id" is the position. `only`: a text file with the images that count, by
    their path in root.
    """

    upright: ClassVar[bool] = True

    def __init__(self, root: str | Path, only: str | Path | None = None, *, classes: Sequence[ClassInfo]) -> None:
        self.root, self.only = Path(root), only
        self.labels: list[int] = []  # of each image
        super().__init__(classes=classes)

    def _index(self, faults: Faults) -> list[ImageEntry]:
        if not self.root.is_dir():
            faults.missing(self.root, "folder")
            return []
        names = list(labels_by_name(self.classes))
        folders = {path.name: path for path in sorted(self.root.iterdir()) if path.is_dir()}
        for name in sorted(folders.keys() - set(names)):
            faults.add(folders[name], f'no class "{name}"; {nearest(name, names)}')
        labels: dict[str, int] = {}  # of each image, by its path in root
        for label, name in enumerate(names):
            for path in sorted(folders[name].iterdir()) if name in folders else ():
                if path.suffix.lower() in SUFFIXES:
                    labels[path.relative_to(self.root).as_posix()] = label
        entries: list[ImageEntry] = []
        for name in listed(labels, self.only, faults):
            if (header := check_header(self.root / name, faults)) is not None:
                entries.append(ImageEntry(self.root / name, len(entries), header.size))
                self.labels.append(labels[name])
        if not entries and not len(faults):
            faults.add(self.root, f"no images in folders named {', '.join(names[:3])} ...; expected one or more")
        return entries

    def _truth(self, index: int) -> dict[str, Any]:
        return {"label": self.labels[index]}
