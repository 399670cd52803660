"""Boxes of a COCO annotation file."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zoo.datasets.box_extent import outside
from zoo.datasets.class_labels import labels_by_category
from zoo.datasets.coco.document import CocoDocument, Record
from zoo.datasets.coco.finite_numbers import are_numbers
from zoo.datasets.evaluation_dataset import EvaluationDataset, ImageEntry
from zoo.datasets.files.faults import Faults
from zoo.datasets.files.image_files import check_header
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo

Wrong = tuple[str, str]
"""The key of an annotation that is at fault, and what is wrong."""


@DATASETS.register_module()
class CocoDetection(EvaluationDataset):
    """The COCO file `annotations` on the images in the folder `images`: all of the file's, in its order, with its ids.

    An item's truth: "boxes" float32 [n, 4] x1 y1 x2 y2, "labels" int64 [n], "areas" float32 [n] in square pixels and
    "iscrowd" int64 [n], 0 or 1. An annotation without "area" has its box's, one without "iscrowd" is no crowd.
    """

    def __init__(self, images: str | Path, annotations: str | Path, *, classes: Sequence[ClassInfo]) -> None:
        self.folder, self.file = Path(images), Path(annotations)
        self.labels = labels_by_category(classes)
        self.categories: dict[int, Record] = {}
        self.annotations: list[list[Record]] = []  # of each image
        super().__init__(classes=classes)

    def _index(self, faults: Faults) -> list[ImageEntry]:
        document = CocoDocument(self.file, faults)
        entries = self._entries(document, faults)
        places = {entry.image_id: index for index, entry in enumerate(entries)}
        self.categories = {record["id"]: record for _, record in document.records("categories")}
        self.annotations = [[] for _ in entries]
        foreign: dict[int, list[int]] = {}  # categories that the task lacks: the indices of their annotations
        for index, record in document.records("annotations"):
            place, category_id = places.get(record["image_id"]), record["category_id"]
            if place is None or category_id not in self.categories:
                key = "image_id" if place is None else "category_id"
                document.fault(
                    f"annotation {record['id']}: unknown {key} {record[key]}, expected one of the file's",
                    *("annotations", index, key),
                )
                continue
            for key, message in self._wrong(record, entries[place].size):
                document.fault(f"annotation {record['id']}: {message}", "annotations", index, key)
            if category_id not in self.labels:
                foreign.setdefault(category_id, []).append(index)
            self.annotations[place].append(record)
        for category_id, indices in foreign.items():
            document.fault(
                f"unknown category {category_id} ({self.categories[category_id].get('name')!r}) in {len(indices)} "
                "annotation(s) from here on; give a class of the config's task this category_id",
                *("annotations", indices[0], "category_id"),
            )
        return entries

    def _entries(self, document: CocoDocument, faults: Faults) -> list[ImageEntry]:
        if not (is_there := self.folder.is_dir()):
            faults.missing(self.folder, "folder")
        entries: list[ImageEntry] = []
        for index, record in document.records("images"):
            path, size = self.folder / record["file_name"], (record["height"], record["width"])
            entries.append(ImageEntry(path, record["id"], size))
            if is_there:
                check_header(path, faults, named_in=self.file, line=document.line("images", index), size=size)
        if not entries and not len(faults):
            document.fault("no images, expected one or more", "images")
        return entries

    def _wrong(self, record: Record, size: tuple[int, int]) -> Iterator[Wrong]:
        """What is wrong with an annotation on an image of `size` (height, width); fills in what it may leave out."""
        box = record["bbox"]
        if len(box) != 4 or not are_numbers(box):  # noqa: PLR2004 - x y width height
            yield "bbox", f"bbox {box!r:.60}, expected four numbers x, y, width, height"
            box = (0, 0, 0, 0)
        x, y, width, height = box
        if width < 0 or height < 0:
            yield "bbox", f"bbox {box} has a negative width or height"
        elif message := outside((x, y, x + width, y + height), size):
            yield "bbox", f"bbox {box} {message}"
        area = record.setdefault("area", max(0, width * height))
        if not are_numbers([area]) or area < 0:
            yield "area", f"area {area!r:.40}, expected a number, 0 or more"
        if record.setdefault("iscrowd", 0) not in (0, 1):
            yield "iscrowd", f"iscrowd {record['iscrowd']!r:.40}, expected 0 or 1"

    def _truth(self, index: int) -> dict[str, Any]:
        records = self.annotations[index]
        boxes = np.asarray([record["bbox"] for record in records], np.float64).reshape(-1, 4)
        boxes[:, 2:] += boxes[:, :2]
        return {
            "boxes": boxes.astype(np.float32),
            "labels": np.asarray([self.labels[record["category_id"]] for record in records], np.int64),
            "areas": np.asarray([record["area"] for record in records], np.float32),
            "iscrowd": np.asarray([record["iscrowd"] for record in records], np.int64),
        }
