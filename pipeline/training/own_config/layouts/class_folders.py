"""A folder of images for each class."""

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from pipeline.training.own_config.layout import Layout, Section, register_layout
from pipeline.training.own_config.layouts.label_maps import VOC_IMAGES
from pipeline.training.own_config.request import DataRequest
from zoo.datasets import EvaluationDataset
from zoo.errors import InputError
from zoo.input_kinds.image.reading import SUFFIXES
from zoo.tasks import ClassInfo


@register_layout
class FoldersOfClasses(Layout):
    """The name of a folder is that of its class."""

    what: ClassVar[str] = "a folder with a folder of images for each class"
    learned: ClassVar[str] = "folders of classes (of label maps give --images DIR as well)"
    types: ClassVar[Mapping[str, str]] = {"label": "ClassFolders"}

    def accepts(self, request: DataRequest) -> bool:
        """A folder that has folders with images in it, and is none of VOC's."""
        names = _class_names(request.data)
        return request.images is None and bool(names) and VOC_IMAGES not in names

    def classes(self, request: DataRequest, kind: str) -> list[ClassInfo]:  # noqa: ARG002 - there is one type
        """The names of the folders; those of data to be judged on must be among them."""
        names = _class_names(request.data)
        if request.val is not None and (unknown := sorted(set(_class_names(request.val)) - set(names))):
            raise InputError(
                f"--val {request.val}: {request.data} has no class {', '.join(unknown)}, which is to be judged"
            )
        return [ClassInfo(name, number) for number, name in enumerate(names)]

    def section(self, request: DataRequest, data: Path, kind: str) -> Section:  # noqa: ARG002
        """The folder."""
        return {"type": kind, "root": data}

    def name(self, whole: Section, dataset: EvaluationDataset, place: int) -> str:
        """The path of the image in the folder."""
        return dataset.entries[place].path.relative_to(whole["root"]).as_posix()


def _class_names(root: Path) -> list[str]:
    """The folders of a folder that have images."""
    folders = sorted(path for path in root.iterdir() if path.is_dir()) if root.is_dir() else []
    return [folder.name for folder in folders if any(file.suffix.lower() in SUFFIXES for file in folder.iterdir())]
