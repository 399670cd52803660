"""The digits in turned images, with rotated boxes: made on the fly from the splits that lie on the disk."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from zoo.datasets.coco.runs import mask_of
from zoo.datasets.digits.generated_split import SHIPPED
from zoo.datasets.digits.on_disk import DIGITS, DigitsInstances
from zoo.datasets.digits.training_scenes import DigitsTrainingScenes
from zoo.datasets.digits.turning import MAX_TURN, boxes_of_masks, turned_boxes, turned_image
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo

SEED = 26  # of the angles


def angle_of(index: int) -> float:
    """Of image `index` of every split, in radians: between -60 and 60 degrees, the same on every run."""
    return float(np.random.default_rng([SEED, index]).uniform(-MAX_TURN, MAX_TURN))


@DATASETS.register_module()
class RotatedDigits(DigitsInstances):
    """A split of the digits, each image turned by its own angle; `root` as for DigitsDetection.

    An item's truth: "rotated_boxes" float32 [n, 5], x y w h angle of the smallest rectangle around each visible stroke,
    in pixels of the turned image and radians, the longer side first (le90); "labels" int64 [n].
    """

    def __init__(
        self, split: str = SHIPPED, root: str | Path | None = None, *, classes: Sequence[ClassInfo] = DIGITS
    ) -> None:
        super().__init__(split, root, classes=classes)

    def image_item(self, index: int) -> dict[str, Any]:
        """An item without its truth."""
        item = super().image_item(index)
        return item | {"image": turned_image(item["image"], angle_of(index))}

    def _truth(self, index: int) -> dict[str, Any]:
        truth = super()._truth(index)
        boxes = boxes_of_masks([mask_of(mask) for mask in truth["masks"]])
        return {
            "rotated_boxes": turned_boxes(boxes, self.entries[index].size, angle_of(index)),
            "labels": truth["labels"],
        }


@DATASETS.register_module()
class RotatedDigitsTrainingScenes(DigitsTrainingScenes):
    """Scenes of the training split, each turned by its own angle, without a truth: for calibration."""

    def image_item(self, index: int) -> dict[str, Any]:
        """An item."""
        item = super().image_item(index)
        return item | {"image": turned_image(item["image"], angle_of(index))}
