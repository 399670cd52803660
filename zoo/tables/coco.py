"""COCO's results, as `COCO.loadRes` of pycocotools takes them."""

import json
from collections.abc import Sequence
from pathlib import Path, PurePath
from typing import Any, ClassVar

from zoo.errors import InputError
from zoo.files.writing import staged, sync, write_whole
from zoo.tables.image_ids import AnnotatedImages
from zoo.tables.table import Row, Rows, Table
from zoo.tasks import Result, Task


class CocoTable(Table):
    """A list of results, and beside it the images with their ids and the categories, as COCO writes both.

    The ids are those of an annotation file, or come from the names of the files (see `numbered`).
    """

    name: ClassVar[str] = "coco"
    files: ClassVar[tuple[str, ...]] = ("predictions.coco.json", "predictions.images.json")

    def __init__(self, task: Task) -> None:
        super().__init__(task)
        self._annotated: AnnotatedImages | None = None
        if not task.result_type.has_coco:
            raise InputError(f"--format coco: task {task.name} has no COCO form; give --format files or jsonl")

    def take_image_ids(self, images: AnnotatedImages) -> None:
        """In place of those that the names of the files give."""
        self._annotated = images

    def entry(self, result: Result) -> Any:
        """Without the id of the image, which is known at the end."""
        return result.to_coco(0)

    def write(self, folder: Path, rows: Rows) -> None:
        """The results piece by piece; the images are few."""
        images = [Row(**row.common()) for row in rows()]
        ids = numbered(images) if self._annotated is None else [self._annotated.of(row.source) for row in images]
        results, listing = (folder / name for name in self.files)
        with staged(results) as place:
            with place.open("w", encoding="ascii") as file:
                separator = "[\n"
                for number, row in zip(ids, rows(), strict=True):
                    for each in row.entries.get(self.name, ()):
                        file.write(separator + json.dumps(each | {"image_id": number}))
                        separator = ",\n"
                file.write("[]\n" if separator == "[\n" else "\n]\n")
            sync(place)
        content = {"images": [_image(number, row) for number, row in zip(ids, images, strict=True)]}
        write_whole(listing, json.dumps(content | {"categories": self._categories()}, indent=1))

    def _categories(self) -> list[dict[str, Any]]:
        return [
            {"id": info.category_id, "name": info.name} for info in self.task.classes if info.category_id is not None
        ]


def numbered(rows: Sequence[Row]) -> list[int]:
    """The number that each file is named after, as COCO names its images; 1, 2, 3 ... where one has no such name."""
    names = [PurePath(row.source).stem for row in rows]
    files = all(row.frame is None for row in rows)
    if files and all(name.isascii() and name.isdecimal() for name in names) and len(set(map(int, names))) == len(names):
        return [int(name) for name in names]
    return list(range(1, len(rows) + 1))


def _image(number: int, row: Row) -> dict[str, Any]:
    """As COCO describes one; the frame and the fault where there are such."""
    image = {"id": number, "file_name": row.source, "height": row.height, "width": row.width}
    more = {"frame": row.frame, "fault": row.fault}
    return image | {name: value for name, value in more.items() if value is not None}
