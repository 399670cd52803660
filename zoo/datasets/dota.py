"""DOTA's layout: images, and for each a text file with the corners of its objects."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zoo.datasets.class_labels import labels_by_name
from zoo.datasets.evaluation_dataset import EvaluationDataset, ImageEntry
from zoo.datasets.files.faults import Faults
from zoo.datasets.files.image_files import check_header
from zoo.datasets.files.text_file import read_text
from zoo.datasets.smallest_boxes import smallest_boxes
from zoo.errors import nearest
from zoo.input_kinds.image.reading import SUFFIXES
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo
from zoo.tasks.rotated_detection.dota import DotaObject, read_dota


@DATASETS.register_module()
class DotaDetection(EvaluationDataset):
    """The images of the folder `images`, and of each the file of its name with the ending .txt in `annotations`.

    As DOTA's folders images and labelTxt have them. An item's truth: "rotated_boxes" float32 [n, 5], x y w h angle of
    the smallest rectangle around the four corners, in pixels and radians, the longer side first (le90); "labels" int64
    [n]; "difficult" bool [n]. Classes are found by their names. "image_id" is the position in the order of the names.
    """

    def __init__(self, images: str | Path, annotations: str | Path, *, classes: Sequence[ClassInfo]) -> None:
        self.images, self.annotations = Path(images), Path(annotations)
        self.objects: list[list[DotaObject]] = []
        self.labels = labels_by_name(classes)
        super().__init__(classes=classes)

    def _index(self, faults: Faults) -> list[ImageEntry]:
        for folder in (self.images, self.annotations):
            if not folder.is_dir():
                faults.missing(folder, "folder")
        if len(faults):
            return []
        paths = sorted(path for path in self.images.iterdir() if path.suffix.lower() in SUFFIXES)
        if not paths:
            faults.add(self.images, f"no images, expected files with the endings {', '.join(SUFFIXES)}")
        entries: list[ImageEntry] = []
        for path in paths:
            header = check_header(path, faults)
            file = self.annotations / f"{path.stem}.txt"
            if not file.is_file():
                faults.add(path, f"annotation {file}: no such file")
            elif header is not None:
                self.objects.append(self._objects(file, faults))
                entries.append(ImageEntry(path, len(entries), header.size))
        return entries

    def _objects(self, file: Path, faults: Faults) -> list[DotaObject]:
        """Of one file."""
        objects = []
        for line, entry in read_dota(read_text(file, faults) or ""):
            if isinstance(entry, str):
                faults.add(file, entry, line)
            elif entry.category in self.labels:
                objects.append(entry)
            else:
                hint = f"none of the task's classes; {nearest(entry.category, self.labels)}"
                faults.add(file, f'unknown class "{entry.category}", {hint}', line)
        return objects

    def _truth(self, index: int) -> dict[str, Any]:
        objects = self.objects[index]
        return {
            "rotated_boxes": smallest_boxes(np.array(entry.corners, np.float32).reshape(-1, 2) for entry in objects),
            "labels": np.array([self.labels[entry.category] for entry in objects], np.int64),
            "difficult": np.array([entry.difficult for entry in objects], np.bool_),
        }
