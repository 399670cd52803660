"""The base of all data sets with a label map for each image."""

from abc import abstractmethod
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from zoo.datasets.evaluation_dataset import EvaluationDataset, ImageEntry
from zoo.datasets.files.faults import Faults
from zoo.datasets.files.image_files import check_header, format_pixel_size, present_values, read_values
from zoo.datasets.label_maps.lookup import LabelLookup
from zoo.tasks import ClassInfo

BYTE_MODES = ("L", "P")  # PIL's names of grey levels and palette indices, 8 bits a pixel


class Pair(NamedTuple):
    """An image and its label map, and the file and line that name them, where there are any."""

    image: Path
    label_map: Path
    named_in: Path | None = None
    line: int | None = None


class LabelMapDataset(EvaluationDataset):
    """Pairs of an image and a label map of the same size.

    An item's truth: "label_map" uint8 [h, w], model ids, 255 where ignored. A pixel's value is looked up among the
    classes' category_id; `ignored` values are ignored (None: all that no class has), others are faults. "image_id" is
    the position in the data set.
    """

    def __init__(self, *, classes: Sequence[ClassInfo], ignored: Collection[int] | None) -> None:
        self.lookup = LabelLookup(classes, ignored)
        self.label_maps: list[Path] = []
        super().__init__(classes=classes)

    @abstractmethod
    def _pairs(self, faults: Faults) -> Iterator[Pair]:
        """The files, in order; what cannot be paired goes to `faults`."""

    def _index(self, faults: Faults) -> list[ImageEntry]:
        listed: list[ImageEntry] = []
        for index, pair in enumerate(self._pairs(faults)):
            image, label_map = (
                check_header(path, faults, named_in=pair.named_in, line=pair.line)
                for path in (pair.image, pair.label_map)
            )
            if image is None or label_map is None:
                continue
            if label_map.mode not in BYTE_MODES:
                faults.add(
                    pair.label_map, f"image mode {label_map.mode}, expected 8-bit grey levels or a palette, not colours"
                )
            elif not self.lookup.takes_all:
                present = present_values(pair.label_map, faults)
                if present is not None and (message := self.lookup.fault(present)):
                    faults.add(pair.label_map, message)
            if label_map.size != image.size:
                faults.add(
                    pair.label_map,
                    f"the label map is {format_pixel_size(label_map.size)}, its image {format_pixel_size(image.size)}",
                )
            listed.append(ImageEntry(pair.image, index, image.size))
            self.label_maps.append(pair.label_map)
        return listed

    def _truth(self, index: int) -> dict[str, Any]:
        path = self.label_maps[index]
        return {"label_map": self.lookup(read_values(path, self.entries[index].size), path)}


def paired(images: Mapping[str, Path], label_maps: Mapping[str, Path], faults: Faults) -> Iterator[Pair]:
    """Files of one name, in the order of the names; a file without its other half is a fault.

    Where one kind is missing altogether, its folder has been found at fault already.
    """
    for name in sorted({*images, *label_maps} if images and label_maps else ()):
        if name not in label_maps:
            faults.add(images[name], f'image without a label map "{name}"')
        elif name not in images:
            faults.add(label_maps[name], f'label map without an image "{name}"')
        else:
            yield Pair(images[name], label_maps[name])
