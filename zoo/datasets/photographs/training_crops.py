"""Small copies of crops of the training photographs: what calibration of super-resolution may see. Needs [train]."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zoo.datasets.evaluation_dataset import INPUTS, EvaluationDataset, ImageEntry
from zoo.datasets.files.faults import Faults
from zoo.datasets.photographs.low_resolution import low_resolution
from zoo.datasets.photographs.scales import checked_scales
from zoo.input_specs import SCALE
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo

SIZE = (255, 299)  # (height, width) of a crop before it is made small, as those of val
CROPS = 3  # of each photograph: at its upper left, in its middle and at its lower right


@DATASETS.register_module()
class TrainingPhotographCrops(EvaluationDataset):
    """Crops of the photographs that training saw, one of each in turn, made small by `scale`, or by `scales` in turn.

    Made when they are asked for; nothing is written. With `scales` an item's "inputs" have its scale. An item has no
    truth; "path" names no file.
    """

    def __init__(
        self, scale: int | None = None, scales: Sequence[int] | None = None, *, classes: Sequence[ClassInfo] = ()
    ) -> None:
        self.gives_scale = scales is not None
        self.scales = checked_scales(type(self).__name__, scale, scales)
        super().__init__(classes=classes)

    def image_item(self, index: int) -> dict[str, Any]:
        """An item."""
        from zoo.datasets.digits.photographs import TRAIN_PHOTOGRAPHS, load_photograph

        entry = self.entries[index]
        number, place = index % len(TRAIN_PHOTOGRAPHS), index // len(TRAIN_PHOTOGRAPHS)
        scale = self.scales[index % len(self.scales)]
        photograph = load_photograph(TRAIN_PHOTOGRAPHS[number])
        height, width = (side // scale * scale for side in SIZE)
        top = (photograph.shape[0] - height) * place // (CROPS - 1)
        left = (photograph.shape[1] - width) * place // (CROPS - 1)
        small = low_resolution(np.ascontiguousarray(photograph[top : top + height, left : left + width]), scale)
        item = {"image": small, "image_id": entry.image_id, "path": str(entry.path)}
        return item | ({INPUTS: {SCALE.name: scale}} if self.gives_scale else {})

    def _index(self, _: Faults) -> list[ImageEntry]:
        from zoo.datasets.digits.photographs import TRAIN_PHOTOGRAPHS

        names = [photograph.name for _ in range(CROPS) for photograph in TRAIN_PHOTOGRAPHS]
        return [ImageEntry(Path(f"{name}-{index}"), index, SIZE) for index, name in enumerate(names)]

    @property
    def is_generated(self) -> bool:
        """All of them are."""
        return True

    def _truth(self, _: int) -> dict[str, Any]:
        return {}
