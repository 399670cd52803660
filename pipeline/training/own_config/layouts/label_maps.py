"""A folder of label maps, and the folder of their images."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import ClassVar

import numpy as np

from pipeline.training.own_config.layout import Layout, Section, register_layout
from pipeline.training.own_config.request import DataRequest
from zoo.datasets import EvaluationDataset
from zoo.datasets.files.faults import Faults
from zoo.datasets.files.image_files import present_values
from zoo.errors import InputError
from zoo.tasks import ClassInfo
from zoo.tasks.class_info import IGNORE_LABEL

VOC_IMAGES = "JPEGImages"


@register_layout
class LabelMapFolder(Layout):
    """PNGs whose values are the classes, under the names of their images."""

    what: ClassVar[str] = "a folder of label maps (PNG) with --images DIR"
    learned: ClassVar[str] = "label maps"
    types: ClassVar[Mapping[str, str]] = {"label_map": "LabelMaps"}
    takes_images: ClassVar[bool] = True
    takes_classes: ClassVar[bool] = True

    def accepts(self, request: DataRequest) -> bool:
        """A folder that has its images elsewhere, and is none of VOC's."""
        return request.data.is_dir() and request.images is not None and not (request.data / VOC_IMAGES).is_dir()

    def classes(self, request: DataRequest, kind: str) -> list[ClassInfo]:  # noqa: ARG002 - there is one type
        """The values that occur."""
        return classes_of_values(sorted(request.data.rglob("*.png")), {IGNORE_LABEL}, request)

    def section(self, request: DataRequest, data: Path, kind: str) -> Section:
        """Both folders."""
        return {"type": kind, "images": request.images_of(data), "label_maps": data}

    def name(self, whole: Section, dataset: EvaluationDataset, place: int) -> str:
        """The path of the image in its folder, without suffix."""
        return dataset.entries[place].path.relative_to(whole["images"]).with_suffix("").as_posix()


def classes_of_values(label_maps: Sequence[Path], ignored: Collection[int], request: DataRequest) -> list[ClassInfo]:
    """A class for each value that is not ignored, in their order, with the request's names or made-up ones.

    Raises InputError where no value is left, or one beside those that are ignored, as masks of 0 and 255 have it; and
    where there is another number of names.
    """
    faults, present = Faults("label maps"), np.zeros(256, np.bool_)
    for path in label_maps:
        if (of_map := present_values(path, faults)) is not None:
            present |= of_map[: len(present)]
    faults.raise_any()
    values = [value for value in np.flatnonzero(present).tolist() if value not in ignored]
    if not values:
        raise InputError(f"--data {request.data}: no label maps with a class in them; give a folder of PNG files")
    if len(values) == 1 and any(present[value] for value in ignored):
        void = max(ignored)
        raise InputError(
            f"--data {request.data}: the label maps have the values {values[0]} and {void}, and {void} is left out as "
            f"void, so there is one class; write the foreground as {values[0] + 1}"
        )
    names = request.classes or tuple(f"value_{value}" for value in values)
    if len(names) != len(values):
        raise InputError(
            f"--classes: got {len(names)} names, but the label maps of {request.data} have the values "
            f"{', '.join(map(str, values))}; give {len(values)} names, in this order"
        )
    return [ClassInfo(name, value) for name, value in zip(names, values, strict=True)]
