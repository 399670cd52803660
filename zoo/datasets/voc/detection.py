"""PASCAL VOC's boxes."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zoo.datasets.class_labels import labels_by_name
from zoo.datasets.evaluation_dataset import EvaluationDataset, ImageEntry
from zoo.datasets.files.faults import Faults
from zoo.datasets.files.image_files import check_header
from zoo.datasets.voc.annotation import VOCAnnotation, read_annotation
from zoo.datasets.voc.split import read_split
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo


@DATASETS.register_module()
class VOCDetection(EvaluationDataset):
    """The images of root/ImageSets/Main/<split>.txt in root/JPEGImages, boxes in root/Annotations; `root` is a VOC20xx.

    An item's truth: "boxes" float32 [n, 4] x1 y1 x2 y2, "labels" int64 [n], "areas" float32 [n] in square pixels and
    "difficult" bool [n]. VOC's 1-based boxes with both ends included become edges: one pixel less at the left and top.
    Classes are found by their names. "image_id" is the position in the split, whose names are no numbers. `only`: a
    text file with the images of the split that count, by their names there.
    """

    def __init__(
        self, root: str | Path, split: str, only: str | Path | None = None, *, classes: Sequence[ClassInfo]
    ) -> None:
        self.root, self.split, self.only = Path(root), split, only
        self.annotations: list[VOCAnnotation] = []
        super().__init__(classes=classes)

    def _index(self, faults: Faults) -> list[ImageEntry]:
        labels = labels_by_name(self.classes)
        split = self.root / "ImageSets" / "Main" / f"{self.split}.txt"
        entries: list[ImageEntry] = []
        for index, (name, line) in enumerate(read_split(split, faults, self.only)):
            path = self.root / "Annotations" / f"{name}.xml"
            image = self.root / "JPEGImages" / f"{name}.jpg"
            header = check_header(image, faults, named_in=split, line=line)
            if not path.is_file():
                faults.add(split, f"annotation {path}: no such file", line)
                continue
            self.annotations.append(read_annotation(path, labels, header and header.size, faults))
            if header is not None:
                entries.append(ImageEntry(image, index, header.size))
        return entries

    def _truth(self, index: int) -> dict[str, Any]:
        annotation = self.annotations[index]
        sides = annotation.boxes[:, 2:] - annotation.boxes[:, :2]
        return {
            "boxes": annotation.boxes.copy(),
            "labels": annotation.labels.copy(),
            "areas": np.asarray(sides.prod(axis=1), np.float32),
            "difficult": annotation.difficult.copy(),
        }
