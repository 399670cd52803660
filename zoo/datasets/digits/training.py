"""Training samples of the digits: scenes made on the fly, cropped, scaled and with other colours. Needs [train]."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from zoo.datasets.digits.corners import corner_points
from zoo.datasets.digits.scene import Scene, make_scene
from zoo.datasets.training.colours import recolour
from zoo.datasets.training.placement import Placement
from zoo.registry import DATASETS

PAD_VALUE = 114
NEGATIVES, GREYS = 0.2, 0.15  # parts of the samples


@dataclass(frozen=True)
class TrainScene:
    """A scene to learn from: visible strokes never overlap, so one map holds the masks of all.

    `image` uint8 [H, W, 3], BGR; `label_map` uint8 [H, W]; `instance_map` uint8 [H, W], i + 1 where object i is seen;
    `boxes` float32 [n, 4]; `labels` int64 [n]; `corners` float32 [n, 4, 3], x y visibility.
    """

    image: NDArray[np.uint8]
    label_map: NDArray[np.uint8]
    instance_map: NDArray[np.uint8]
    boxes: NDArray[np.float32]
    labels: NDArray[np.int64]
    corners: NDArray[np.float32]

    @classmethod
    def of(cls, scene: Scene) -> Self:
        """A scene in half a megabyte."""
        numbers = np.arange(1, len(scene.masks) + 1, dtype=np.uint8)[:, None, None]
        corners = np.stack([corner_points(mask) for mask in scene.masks])
        return cls(
            scene.image, scene.label_map, (scene.masks * numbers).max(axis=0), scene.boxes, scene.labels, corners
        )


class TrainScenes:
    """The first `num_scenes` scenes of the train split, in turn for ever; each is made once and kept."""

    def __init__(self, num_scenes: int) -> None:
        self.num_scenes = num_scenes
        self._scenes: dict[int, TrainScene] = {}

    def __getitem__(self, index: int) -> TrainScene:
        index %= self.num_scenes
        if index not in self._scenes:
            self._scenes[index] = TrainScene.of(make_scene("train", index))
        return self._scenes[index]


@DATASETS.register_module()
class DigitsTraining(Dataset[dict[str, Tensor]]):
    """`length` samples of `num_scenes` scenes in turn, never mirrored (a mirrored digit is another sign).

    An item is {"image": float32 [3, H, W], RGB, 0..1, "boxes": float32 [n, 4], "labels": int64 [n], "label_map": int64
    [H, W]} where (H, W) = `crop`. The scene is scaled as the letterbox to `size` (height, width) would, times a factor
    from `scale` (log-uniform), and put or cropped at a random place; the rest is grey, its label is background.
    `details`: what else is wanted of the objects, "masks": uint8 [n, H, W], 0 or 1, "keypoints": float32 [n, 4, 3],
    the corners of the strokes, with visibility 0 where they are cut off. `label_ids`: the model's own id of each digit,
    for "labels"; by default d + 1.
    """

    def __init__(
        self,
        length: int,
        *,
        size: tuple[int, int],
        crop: tuple[int, int],
        scale: tuple[float, float],
        num_scenes: int = 1500,
        seed: int = 0,
        details: Sequence[str] = (),
        label_ids: Sequence[int] = range(1, 11),
    ) -> None:
        self.length, self.size, self.crop, self.scale = length, size, crop, scale
        self.seed, self.details = seed, details
        self.label_ids = torch.tensor([*label_ids])
        self.scenes = TrainScenes(num_scenes)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        rng = np.random.default_rng([self.seed, index])
        scene = self.scenes[index]
        height, width = scene.label_map.shape
        factor = min(self.size[0] / height, self.size[1] / width)
        placement = Placement.random(rng, (height, width), (factor, factor), self.scale, self.crop)
        image = placement.image(scene.image, PAD_VALUE, "bilinear")
        label_map = placement.image(scene.label_map, 0, "nearest")
        boxes, kept = placement.boxes(scene.boxes)
        pixels = recolour(image, rng, negatives=NEGATIVES, greys=GREYS)
        sample = {
            "image": torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))),
            "boxes": torch.from_numpy(boxes),
            "labels": self.label_ids[torch.from_numpy(scene.labels[kept] - 1)],
            "label_map": torch.from_numpy(label_map.astype(np.int64)),
        }
        if "masks" in self.details:
            instances = placement.image(scene.instance_map, 0, "nearest")
            sample["masks"] = torch.from_numpy((instances == kept[:, None, None] + 1).astype(np.uint8))
        if "keypoints" in self.details:
            sample["keypoints"] = torch.from_numpy(placement.points(scene.corners[kept]))
        return sample
