"""The base of all data sets that a model can be judged on."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from torch.utils.data import Dataset

from zoo.datasets.files.faults import Faults
from zoo.datasets.files.image_files import read_image
from zoo.progress import Progress
from zoo.tasks import ClassInfo

INPUTS = "inputs"  # of an item: numbers for inputs of the model that have defaults, by name


class ImageEntry(NamedTuple):
    """An image of a data set: where it is, its id, and its stored (height, width).

    Entries of another input kind have the same fields; their size is what that kind's `stored_fault` takes.
    """

    path: Path
    image_id: int
    size: tuple[int, int]


class EvaluationDataset(Dataset[dict[str, Any]], ABC):
    """Images with their ground truth, in a fixed order.

    An item is {"image": uint8 [h, w, 3] BGR, "image_id": int, "path": str} and the ground truth, which each subclass
    describes, in the image's own pixels and with the model's own class ids: indices into `classes`. A data set of
    another input kind has that kind's name instead of "image", and overrides `_input`.

    The constructor checks everything that can be checked without decoding an image, and the values of label maps.
    Raises InputError with all faults in one message, each with its file and line. Reading an item raises InputError for
    faults that only decoding its image can show.
    """

    input_kind: ClassVar[str] = "image"
    """The name of a kind of zoo.input_kinds."""
    upright: ClassVar[bool] = False
    """Whether images are turned by their orientation tag: never where a truth refers to the pixels as stored."""

    def __init__(self, *, classes: Sequence[ClassInfo]) -> None:
        self.classes = tuple(classes)
        faults = Faults(type(self).__name__)
        self.entries = self._index(faults)
        faults.raise_any()

    @classmethod
    def prepare(cls, section: Mapping[str, Any], progress: Progress | None = None) -> None:
        """Make, once, what a config's section of this type needs and this machine can make; here nothing.

        `progress` counts images. Raises InputError where it cannot be made.
        """

    @property
    def is_generated(self) -> bool:
        """Whether inputs are made when they are asked for, so that there are no files to check."""
        return False

    def __len__(self) -> int:
        return len(self.entries)

    def __getitem__(self, index: int) -> dict[str, Any]:
        index = range(len(self))[index]  # IndexError past the end, which ends a loop over the items
        return self.image_item(index) | self._truth(index)

    def image_item(self, index: int) -> dict[str, Any]:
        """An item without its truth, for those that only look at the images."""
        entry = self.entries[index]
        return {self.input_kind: self._input(entry), "image_id": entry.image_id, "path": str(entry.path)}

    def truth(self, index: int) -> dict[str, Any]:
        """The truth of an item without its image, which is not read."""
        return self._truth(index)

    def _input(self, entry: ImageEntry) -> Any:
        """What the file of an entry holds."""
        return read_image(entry.path, None if self.upright else entry.size)

    @abstractmethod
    def _index(self, faults: Faults) -> list[ImageEntry]:
        """Reads and checks what is not pixels: the images, in order; what is wrong goes to `faults`."""

    @abstractmethod
    def _truth(self, index: int) -> dict[str, Any]:
        """What an item has besides its image; 0 <= index < len."""
