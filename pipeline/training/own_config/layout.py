"""The layouts in which data of one's own may be: each is a module of own_config.layouts that registers it."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pipeline.training.own_config.request import DataRequest
from zoo.datasets import EvaluationDataset
from zoo.errors import InputError
from zoo.subpackages import import_modules
from zoo.tasks import ClassInfo

LAYOUTS = "pipeline.training.own_config.layouts"
"""Every module of it registers a layout."""
LEARNED = {"label_map": "label maps", "label": "the class of an image"}
"""What a task learns from, in words, where its key is not the word."""
Section = Mapping[str, Any]
"""Of a config: the arguments of a data set, paths as Path."""


class Layout(ABC):
    """One layout of files."""

    what: ClassVar[str]
    """For messages: "a COCO file"."""
    learned: ClassVar[str]
    """For messages: what is learned from it."""
    types: ClassVar[Mapping[str, str]]
    """The type of the data set by what a task learns from; the first that fits."""
    takes_images: ClassVar[bool] = False
    """Whether --images has the folder of the images; else the data has them in it."""
    takes_classes: ClassVar[bool] = False
    """Whether --classes may name the classes; else the data does."""
    suffix: ClassVar[str] = ".txt"
    """Of the files that say which images are of which part."""

    @abstractmethod
    def accepts(self, request: DataRequest) -> bool:
        """Whether the data is in this layout, as far as names of files say it."""

    @abstractmethod
    def classes(self, request: DataRequest, kind: str) -> list[ClassInfo]:
        """The classes to learn. `kind`: the type of the data set. Raises InputError where there are none."""

    @abstractmethod
    def section(self, request: DataRequest, data: Path, kind: str) -> Section:
        """All images of `data`, which is the request's or its `val`."""

    def parts(self, request: DataRequest, kind: str) -> tuple[Section, Section] | None:  # noqa: ARG002 - some use them
        """What the layout itself sets apart to learn from and to be judged on; None where it does not."""
        return None

    def part(
        self, whole: Section, dataset: EvaluationDataset, places: Sequence[int], file: Path
    ) -> tuple[Section, str]:
        """Some images of a whole data set, by their places: the section, and the text of a new file that lists them."""
        names = [self.name(whole, dataset, place) for place in places]
        return {**whole, "only": file}, "".join(f"{name}\n" for name in names)

    def name(self, whole: Section, dataset: EvaluationDataset, place: int) -> str:  # noqa: ARG002
        """How a list names an image."""
        return dataset.entries[place].path.stem

    def type_for(self, base: Any) -> str:
        """The type of the data set for the base's task. Raises InputError where it learns from something else."""
        for key, kind in self.types.items():
            if key in base.task.truth:
                return kind
        bases = _either([LEARNED.get(key, key) for key in self.types])
        raise InputError(
            f"config {base.path}: {base.task.name} does not learn from {self.learned}; give a base for {bases}, or "
            "write train_dataset yourself (docs/own_data.md)"
        )


_LAYOUTS: list[Layout] = []


def register_layout(layout: type[Layout]) -> type[Layout]:
    """A decorator: makes a layout known."""
    _LAYOUTS.append(layout())
    return layout


def find_layout(request: DataRequest) -> Layout:
    """The layout of the request's data. Raises InputError that lists them all, and for flags that it does not take."""
    import_modules(LAYOUTS)
    layout = next((layout for layout in _LAYOUTS if layout.accepts(request)), None)
    if layout is None:
        known = _either([layout.what for layout in _LAYOUTS])
        fault = "none of the known layouts" if request.data.exists() else "no such file or folder"
        raise InputError(f"--data {request.data}: {fault}; give {known}")
    if layout.takes_images and request.images is None:
        raise InputError(f"--data {request.data}: give the folder of the images as well, --images DIR")
    if not layout.takes_images and request.images is not None:
        raise InputError(f"--images with {request.data}: {layout.what} has its images in it; leave the flag out")
    if request.val_images is not None and (request.val is None or not layout.takes_images):
        raise InputError(
            f"--val-images {request.val_images}: needs --val, and data that takes --images; leave the flag out"
        )
    if not layout.takes_classes and request.classes:
        raise InputError(f"--classes with {request.data}: {layout.what} names its classes; leave the flag out")
    return layout


def _either(words: Sequence[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last
