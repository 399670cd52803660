"""Cityscapes' label maps."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from zoo.datasets.files.faults import Faults
from zoo.datasets.files.folder_files import files_by_name
from zoo.datasets.label_maps.label_map_dataset import LabelMapDataset, Pair, paired
from zoo.errors import InputError, nearest
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo

IMAGE_ENDING = "_leftImg8bit.png"
KINDS = ("labelIds", "labelTrainIds")
UNLABELED = 0  # among the labelIds; among the train ids it is the road
VOID_TRAIN_ID = 255


@DATASETS.register_module()
class Cityscapes(LabelMapDataset):
    """root/leftImg8bit/<split>/<city>/*_leftImg8bit.png with root/gtFine/<split>/<city>/*_gtFine_<labels>.png.

    `labels` is "labelIds", or "labelTrainIds", and by default what is there, labelIds first. A class's category_id is
    its value in these maps (the road: 7, or train id 0). Of the labelIds all that no class has are ignored, of the
    train ids only 255, so that classes with the ids of the other kind are refused and not misread; `others_ignored`:
    also of the train ids all that no class has, for a model of some of the classes.
    """

    def __init__(
        self,
        root: str | Path,
        split: str = "val",
        labels: str | None = None,
        *,
        others_ignored: bool = False,
        classes: Sequence[ClassInfo],
    ) -> None:
        self.root, self.split = Path(root), split
        if labels is None:
            labels = next((kind for kind in KINDS if next(self._folder.glob(f"*/*_gtFine_{kind}.png"), None)), KINDS[0])
        elif labels not in KINDS:
            raise InputError(f'Cityscapes: unknown labels "{labels}"; {nearest(labels, KINDS)}')
        self.labels = labels
        for info in classes:
            if labels == "labelIds" and info.category_id == UNLABELED:
                raise InputError(
                    f'Cityscapes: class "{info.name}" has category_id {UNLABELED}, which is unlabeled in the labelIds '
                    'of this data set; give the labelIds (road: 7), or labels="labelTrainIds"'
                )
        super().__init__(classes=classes, ignored=None if others_ignored or labels == "labelIds" else {VOID_TRAIN_ID})

    @property
    def _folder(self) -> Path:
        return self.root / "gtFine" / self.split

    def _pairs(self, faults: Faults) -> Iterator[Pair]:
        images = files_by_name(self.root / "leftImg8bit" / self.split, "*/*", IMAGE_ENDING, faults)
        label_maps = files_by_name(self._folder, "*/*", f"_gtFine_{self.labels}.png", faults)
        return paired(images, label_maps, faults)
