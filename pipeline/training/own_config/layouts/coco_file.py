"""A COCO annotation file, and the folder of its images."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pipeline.training.own_config.layout import Layout, Section, register_layout
from pipeline.training.own_config.request import DataRequest
from zoo.datasets import EvaluationDataset
from zoo.datasets.coco.document import CocoDocument
from zoo.datasets.files.faults import Faults
from zoo.errors import InputError
from zoo.tasks import ClassInfo


@register_layout
class CocoFile(Layout):
    """Boxes, masks and keypoints. The parts are two files of the same form."""

    what: ClassVar[str] = "a COCO file"
    learned: ClassVar[str] = "COCO annotations"
    types: ClassVar[Mapping[str, str]] = {
        "masks": "CocoInstances",
        "keypoints": "CocoKeypoints",
        "boxes": "CocoDetection",
    }
    takes_images: ClassVar[bool] = True
    suffix: ClassVar[str] = ".json"

    def accepts(self, request: DataRequest) -> bool:
        """Any file: what is wrong in it is said with its line."""
        return request.data.is_file()

    def classes(self, request: DataRequest, kind: str) -> list[ClassInfo]:  # noqa: ARG002 - the same of each type
        """The categories, in the order of their ids."""
        return read_categories(request.data)

    def section(self, request: DataRequest, data: Path, kind: str) -> Section:
        """The file and the images."""
        return {"type": kind, "images": request.images_of(data), "annotations": data}

    def part(
        self, whole: Section, dataset: EvaluationDataset, places: Sequence[int], file: Path
    ) -> tuple[Section, str]:
        """The content with these images alone, and what is of them."""
        content: dict[str, Any] = json.loads(Path(whole["annotations"]).read_text(encoding="utf-8-sig"))
        images = {dataset.entries[place].image_id for place in places}
        part = {
            **content,
            "images": [image for image in content["images"] if image["id"] in images],
            "annotations": [record for record in content["annotations"] if record["image_id"] in images],
        }
        return {**whole, "annotations": file}, lined(part)


def lined(content: Mapping[str, Any]) -> str:
    """The JSON of a COCO file with a line for each record, so that a fault has a line.

    An indent of json's would give a line to each number of a polygon, and be far slower.
    """
    separator = ",\n"

    def text(value: Any) -> str:
        records = separator.join(map(json.dumps, value)) if isinstance(value, list) else None
        return json.dumps(value) if records is None else f"[\n{records}\n]"

    lines = separator.join(f"{json.dumps(key)}: {text(value)}" for key, value in content.items())
    return f"{{\n{lines}\n}}\n"


def read_categories(file: Path) -> list[ClassInfo]:
    """Raises InputError for a file without categories, or with bad names."""
    faults = Faults("annotations")
    document = CocoDocument(file, faults)
    records = sorted((record for _, record in document.records("categories")), key=lambda record: int(record["id"]))
    for record in records:
        if not isinstance(record.get("name"), str) or not record["name"].strip():
            document.fault(f'category {record["id"]}: "name": got {record.get("name")!r:.40}, expected a string')
    faults.raise_any()
    if not records:
        raise InputError(f"{file}: no categories, which are the classes to learn; give the file at least one")
    names = Counter(record["name"] for record in records)
    for name, count in names.items():
        if count > 1:
            ids = ", ".join(str(record["id"]) for record in records if record["name"] == name)
            raise InputError(
                f'{file}: {count} categories are called "{name}", ids {ids}; give each class a name of its own'
            )
    return [ClassInfo(record["name"], record["id"]) for record in records]
