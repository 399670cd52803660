"""Images of the digits' training split, without a truth: what calibration may see. Needs [train]."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zoo.datasets.evaluation_dataset import EvaluationDataset, ImageEntry
from zoo.datasets.files.faults import Faults
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo

NEVER_DECODED = (0, 0)  # the size of an image that is in no file


@DATASETS.register_module()
class DigitsTrainingScenes(EvaluationDataset):
    """The first `count` scenes of the training split, each made when it is asked for; nothing is written.

    An item has no truth; "path" names no file.
    """

    def __init__(self, count: int = 64, *, classes: Sequence[ClassInfo] = ()) -> None:
        self.count = count
        super().__init__(classes=classes)

    def image_item(self, index: int) -> dict[str, Any]:
        """An item."""
        from zoo.datasets.digits.scene import make_scene

        entry = self.entries[index]
        image = make_scene("train", entry.image_id).image
        return {"image": image, "image_id": entry.image_id, "path": str(entry.path)}

    def _index(self, faults: Faults) -> list[ImageEntry]:
        if self.count < 1:
            faults.add(Path("train"), f"got count {self.count}, expected 1 or more images")
        return [ImageEntry(Path(f"train-{index:06d}"), index, NEVER_DECODED) for index in range(self.count)]

    @property
    def is_generated(self) -> bool:
        """All of them are."""
        return True

    def _truth(self, _: int) -> dict[str, Any]:
        return {}
