"""ADE20K's label maps (the 150 classes of the scene parsing benchmark)."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from zoo.datasets.files.faults import Faults
from zoo.datasets.files.folder_files import files_by_name
from zoo.datasets.label_maps.label_map_dataset import LabelMapDataset, Pair, paired
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo

OTHER = 0


@DATASETS.register_module()
class ADE20K(LabelMapDataset):
    """The images of root/images/<split> with the maps of the same names in root/annotations/<split>.

    A class's category_id is its value in the maps, 1 to 150 for the benchmark's; 0, all other things, is ignored.
    `others_ignored`: also all that no class has.
    """

    def __init__(
        self,
        root: str | Path,
        split: str = "validation",
        *,
        others_ignored: bool = False,
        classes: Sequence[ClassInfo],
    ) -> None:
        self.root, self.split = Path(root), split
        super().__init__(classes=classes, ignored=None if others_ignored else {OTHER})

    def _pairs(self, faults: Faults) -> Iterator[Pair]:
        images = files_by_name(self.root / "images" / self.split, "*", ".jpg", faults)
        label_maps = files_by_name(self.root / "annotations" / self.split, "*", ".png", faults)
        return paired(images, label_maps, faults)
