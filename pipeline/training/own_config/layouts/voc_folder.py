"""A folder as PASCAL VOC's: JPEGImages, ImageSets, and Annotations or SegmentationClass."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pipeline.training.own_config.layout import Layout, Section, register_layout
from pipeline.training.own_config.layouts.label_maps import VOC_IMAGES, classes_of_values
from pipeline.training.own_config.request import DataRequest
from zoo.datasets.files.faults import Faults
from zoo.datasets.files.xml_tree import read_xml
from zoo.datasets.voc.segmentation import VOID
from zoo.datasets.voc.split import read_split
from zoo.errors import InputError
from zoo.tasks import ClassInfo

LISTS = "ImageSets"
LISTS_OF = {"VOCDetection": "Main", "VOCSegmentation": "Segmentation"}
TO_LEARN, TO_JUDGE = "train", "val"
WHOLE = ("trainval", TO_LEARN, TO_JUDGE)  # the lists that may have all images, the first one that is there


@register_layout
class VocFolder(Layout):
    """Boxes, or label maps. Its own lists train and val are the parts, where it has both."""

    what: ClassVar[str] = "a VOC folder"
    learned: ClassVar[str] = "VOC's boxes or label maps"
    types: ClassVar[Mapping[str, str]] = {"boxes": "VOCDetection", "label_map": "VOCSegmentation"}
    takes_classes: ClassVar[bool] = True

    def accepts(self, request: DataRequest) -> bool:
        """A folder with VOC's folder of images."""
        return (request.data / VOC_IMAGES).is_dir()

    def classes(self, request: DataRequest, kind: str) -> list[ClassInfo]:
        """The names in the annotations, or the values of the label maps. Raises InputError where there are none."""
        names = _listed_names(request.data, kind)
        if kind == "VOCSegmentation":
            folder = request.data / "SegmentationClass"
            return classes_of_values([folder / f"{name}.png" for name in names], {VOID}, request)
        if request.classes:
            raise InputError(f"--classes with {request.data}: its annotations name the classes; leave the flag out")
        faults, found = Faults("annotations"), set()
        for name in names:
            root = read_xml(request.data / "Annotations" / f"{name}.xml", faults)
            objects = [child for child in root.children if child.tag == "object"] if root is not None else []
            found |= {field.text.strip() for item in objects if (field := item.child("name")) is not None}
        faults.raise_any()
        if not found - {""}:
            raise InputError(
                f"{request.data}: no objects with names in its annotations, which are the classes to learn"
            )
        return [ClassInfo(name, number) for number, name in enumerate(sorted(found - {""}), 1)]

    def section(self, request: DataRequest, data: Path, kind: str) -> Section:
        """The images of the list with most of them; of data to be judged on the list val, where there is one."""
        lists = _lists(data, kind)
        wanted = WHOLE if data == request.data else (TO_JUDGE, *WHOLE)
        split = next((name for name in wanted if name in lists), lists[0])
        return {"type": kind, "root": data, "split": split}

    def parts(self, request: DataRequest, kind: str) -> tuple[Section, Section] | None:
        """The lists train and val, where no other data is to be judged on."""
        if not {TO_LEARN, TO_JUDGE} <= set(_lists(request.data, kind)) or request.val is not None:
            return None
        learned, judged = ({"type": kind, "root": request.data, "split": split} for split in (TO_LEARN, TO_JUDGE))
        return learned, judged


def _lists(root: Path, kind: str) -> list[str]:
    """The names of the lists of images. Raises InputError where there are none."""
    folder = root / LISTS / LISTS_OF[kind]
    names = sorted(path.stem for path in folder.glob("*.txt"))
    if not names:
        raise InputError(
            f"{folder}: no lists of images; write train.txt and val.txt, with the name of an image in a line"
        )
    return names


def _listed_names(root: Path, kind: str) -> list[str]:
    """The images of all lists that may be learned or judged. Raises InputError for lists that cannot be read."""
    lists, faults = _lists(root, kind), Faults("VOC's lists")
    chosen = [name for name in WHOLE if name in lists] or lists[:1]
    names = [
        entry.name for name in chosen for entry in read_split(root / LISTS / LISTS_OF[kind] / f"{name}.txt", faults)
    ]
    faults.raise_any()
    return list(dict.fromkeys(names))
