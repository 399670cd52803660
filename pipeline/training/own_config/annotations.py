"""A COCO annotation file as a training takes it: its classes, and two parts, to learn from and to be judged on."""

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zoo.datasets.coco.document import CocoDocument, Record
from zoo.datasets.files.faults import Faults
from zoo.errors import InputError
from zoo.tasks import ClassInfo

VALIDATED = 5  # every so many-th image
TRIES = 100  # orders of the images, of which the first with every class in both parts is taken


def read_classes(file: Path) -> list[ClassInfo]:
    """The categories of the file, in the order of their ids. Raises InputError for a missing file or bad names."""
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


def split(file: Path) -> tuple[Record, Record]:
    """The content of a good file in two parts: images to learn from, and every fifth, at random, to be judged on.

    Each class with objects in two images or more is in both parts, where one of TRIES orders allows it. Raises
    InputError where there are too few images.
    """
    content: Record = json.loads(file.read_text(encoding="utf-8-sig"))
    ids = [image["id"] for image in content["images"]]
    if len(ids) < 2:  # noqa: PLR2004 - one for each part
        raise InputError(f"{file}: {len(ids)} image(s), expected 2 or more: some to train on, some to validate on")
    classes: dict[int, set[int]] = {}  # of the objects of each image
    for record in content["annotations"]:
        if not record.get("iscrowd"):
            classes.setdefault(record["image_id"], set()).add(record["category_id"])
    counts = Counter(category for found in classes.values() for category in found)
    wanted = {category for category, count in counts.items() if count > 1}
    for order in _orders(len(ids)):
        judged = {ids[place] for place in order[: max(1, len(ids) // VALIDATED)]}
        parts = ({image for image in ids if image not in judged}, judged)
        if all(wanted <= set().union(*(classes.get(image, set()) for image in part)) for part in parts):
            break
    return _part(content, parts[0]), _part(content, parts[1])


def _orders(count: int) -> Iterator[Sequence[int]]:
    """The same on each machine."""
    for seed in range(TRIES):
        yield np.random.default_rng(seed).permutation(count).tolist()


def _part(content: Record, images: set[Any]) -> Record:
    """The content with these images alone, and what is of them."""
    return {
        **content,
        "images": [image for image in content["images"] if image["id"] in images],
        "annotations": [record for record in content["annotations"] if record["image_id"] in images],
    }
