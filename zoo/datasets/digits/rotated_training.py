"""Training samples of the turned digits: scenes made on the fly, turned, cropped, scaled and in other colours."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zoo.datasets.digits.training import GREYS, NEGATIVES, PAD_VALUE, DigitsTraining, TrainScene
from zoo.datasets.digits.turning import MAX_TURN, boxes_of_masks, turned_boxes, turned_image
from zoo.datasets.training.colours import recolour
from zoo.datasets.training.placement import Placement


class RotatedDigitsTraining(DigitsTraining):
    """DigitsTraining whose scenes are each turned by an angle of their own, from -60 to 60 degrees.

    An item is {"image": float32 [3, H, W], RGB, 0..1, "rotated_boxes": float32 [n, 5], x y w h angle, "labels": int64
    [n]} where (H, W) = `crop`. `label_ids`: by default d.
    """

    def __init__(self, length: int, *, label_ids: Sequence[int] = range(10), **options: Any) -> None:
        super().__init__(length, label_ids=label_ids, **options)
        self._boxes: dict[int, NDArray[np.float32]] = {}

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        rng = np.random.default_rng([self.seed, index])
        scene, angle = self.scenes[index], float(rng.uniform(-MAX_TURN, MAX_TURN))
        image = turned_image(scene.image, angle)
        boxes = turned_boxes(self._scene_boxes(index, scene), scene.image.shape[:2], angle)
        factor = min(want / have for want, have in zip(self.size, image.shape[:2], strict=True))
        placement = Placement.random(rng, image.shape[:2], (factor, factor), self.scale, self.crop)
        placed, kept = placement.rotated_boxes(boxes)
        pixels = recolour(placement.image(image, PAD_VALUE, "bilinear"), rng, negatives=NEGATIVES, greys=GREYS)
        return {
            "image": torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))),
            "rotated_boxes": torch.from_numpy(placed),
            "labels": self.label_ids[torch.from_numpy(scene.labels[kept] - 1)],
        }

    def _scene_boxes(self, index: int, scene: TrainScene) -> NDArray[np.float32]:
        """Of a scene that is not turned, found once."""
        number = index % self.scenes.num_scenes
        if number not in self._boxes:
            masks = [scene.instance_map == instance for instance in range(1, len(scene.labels) + 1)]
            self._boxes[number] = boxes_of_masks(masks)
        return self._boxes[number]
