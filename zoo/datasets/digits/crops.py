"""Single digits, cut out of the scenes: one class for each image."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.datasets.digits.generated_split import SHIPPED, GeneratedSplit
from zoo.datasets.digits.on_disk import DIGITS, DigitsDetection
from zoo.datasets.digits.training import PAD_VALUE
from zoo.datasets.digits.training_scenes import DigitsTrainingScenes
from zoo.datasets.evaluation_dataset import ImageEntry
from zoo.datasets.files.faults import Faults
from zoo.preprocess import MIN_SIDE
from zoo.registry import DATASETS
from zoo.tasks import ClassInfo

CONTEXT = 1.5  # the crop's side, in longer sides of the digit's box


@DATASETS.register_module()
class DigitsClassification(GeneratedSplit):
    """Every digit of a split, with what is around it; `root` as for DigitsDetection.

    An item's truth: "label", the model's own id of the digit at the middle. "path" is the file of the whole scene,
    "image_id" the position.
    """

    def __init__(
        self, split: str = SHIPPED, root: str | Path | None = None, *, classes: Sequence[ClassInfo] = DIGITS
    ) -> None:
        self.scenes = DigitsDetection(split, root, classes=classes)
        truths = [self.scenes.truth(scene) for scene in range(len(self.scenes))]
        self.digits = [
            (scene, box, int(label))
            for scene, truth in enumerate(truths)
            for box, label in zip(truth["boxes"], truth["labels"], strict=True)
        ]
        self._last: tuple[int, dict[str, Any]] = (-1, {})
        super().__init__(classes=classes)

    def image_item(self, index: int) -> dict[str, Any]:
        """An item without its truth."""
        scene, box, _ = self.digits[index]
        item = self._scene_item(scene)
        return item | {"image": crop_around(item["image"], box), "image_id": index}

    def _scene_item(self, scene: int) -> dict[str, Any]:
        """Its file is read once for all its digits, which follow one another."""
        last, item = self._last
        if last != scene:
            item = self.scenes.image_item(scene)
            self._last = scene, item
        return item

    def _index(self, _: Faults) -> list[ImageEntry]:
        return [
            ImageEntry(self.scenes.entries[scene].path, index, (crop_side(box),) * 2)
            for index, (scene, box, _) in enumerate(self.digits)
        ]

    def _truth(self, index: int) -> dict[str, Any]:
        return {"label": self.digits[index][2]}


@DATASETS.register_module()
class DigitsTrainingCrops(DigitsTrainingScenes):
    """One digit of each of the first `count` scenes of the training split, without a truth: for calibration."""

    def image_item(self, index: int) -> dict[str, Any]:
        """An item."""
        from zoo.datasets.digits.scene import make_scene

        entry = self.entries[index]
        scene = make_scene("train", entry.image_id)
        box = scene.boxes[index % len(scene.boxes)]
        return {"image": crop_around(scene.image, box), "image_id": entry.image_id, "path": str(entry.path)}


def crop_side(box: NDArray[Any]) -> int:
    """The side in pixels of the crop around a box x1 y1 x2 y2: no model takes less than MIN_SIDE."""
    return max(MIN_SIDE, round(CONTEXT * float((box[2:] - box[:2]).max())))


def crop_around(image: NDArray[np.uint8], box: NDArray[Any]) -> NDArray[np.uint8]:
    """The square around a box x1 y1 x2 y2 of an image uint8 [h, w, 3]; grey where it reaches past the image."""
    side = crop_side(box)
    left, top = np.round((box[:2] + box[2:] - side) / 2).astype(int).tolist()
    padded = cv2.copyMakeBorder(image, side, side, side, side, cv2.BORDER_CONSTANT, value=(PAD_VALUE,) * 3)
    return np.ascontiguousarray(padded[top + side : top + 2 * side, left + side : left + 2 * side])
