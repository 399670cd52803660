"""PASCAL VOC's label maps."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from zoo.datasets.files.faults import Faults
from zoo.datasets.label_maps.label_map_dataset import LabelMapDataset, Pair
from zoo.datasets.voc.split import read_split
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo

VOID = 255  # the outlines of objects


@DATASETS.register_module()
class VOCSegmentation(LabelMapDataset):
    """The images of root/ImageSets/Segmentation/<split>.txt in root/JPEGImages, maps in root/SegmentationClass.

    The maps are palette PNGs: a class's category_id is the index, 0 the background; 255 is ignored. `only`: a text file
    with the images of the split that count, by their names there. `others_ignored`: also all that no class has.
    """

    def __init__(
        self,
        root: str | Path,
        split: str,
        only: str | Path | None = None,
        *,
        others_ignored: bool = False,
        classes: Sequence[ClassInfo],
    ) -> None:
        self.root, self.split, self.only = Path(root), split, only
        super().__init__(classes=classes, ignored=None if others_ignored else {VOID})

    def _pairs(self, faults: Faults) -> Iterator[Pair]:
        split = self.root / "ImageSets" / "Segmentation" / f"{self.split}.txt"
        for name, line in read_split(split, faults, self.only):
            image = self.root / "JPEGImages" / f"{name}.jpg"
            yield Pair(image, self.root / "SegmentationClass" / f"{name}.png", split, line)
