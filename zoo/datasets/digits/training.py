"""Training samples of the digits: scenes made on the fly, cropped, scaled and with other colours. Needs [train]."""

from dataclasses import replace
from typing import Any

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from zoo.datasets.digits.scene import Scene, make_scene
from zoo.registry import DATASETS

PAD_VALUE = 114
KEPT_AREA = 0.5  # a box is kept where the crop leaves at least this part of it
MIN_SIDE = 4  # pixels
NEGATIVES, GREYS = 0.2, 0.15  # parts of the samples


class TrainScenes:
    """The first `num_scenes` scenes of the train split, in turn for ever; each is made once and kept (half a megabyte).

    Scenes come without their masks: training needs the label map alone.
    """

    def __init__(self, num_scenes: int) -> None:
        self.num_scenes = num_scenes
        self._scenes: dict[int, Scene] = {}

    def __getitem__(self, index: int) -> Scene:
        index %= self.num_scenes
        if index not in self._scenes:
            scene = make_scene("train", index)
            self._scenes[index] = replace(scene, masks=scene.masks[:0])
        return self._scenes[index]


@DATASETS.register_module()
class DigitsTraining(Dataset[dict[str, Tensor]]):
    """`length` samples of `num_scenes` scenes in turn, never mirrored (a mirrored digit is another sign).

    An item is {"image": float32 [3, H, W], RGB, 0..1, "boxes": float32 [n, 4], "labels": int64 [n], "label_map": int64
    [H, W]} where (H, W) = `crop`. The scene is scaled as the letterbox to `size` (height, width) would, times a factor
    from `scale` (log-uniform), and put or cropped at a random place; the rest is grey, its label is background.
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
    ) -> None:
        self.length, self.size, self.crop, self.scale = length, size, crop, scale
        self.seed = seed
        self.scenes = TrainScenes(num_scenes)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        rng = np.random.default_rng([self.seed, index])
        scene = self.scenes[index]
        height, width = scene.label_map.shape
        low, high = np.log(self.scale)
        factor = min(self.size[0] / height, self.size[1] / width) * float(np.exp(rng.uniform(low, high)))
        # A crop of at most the tensor's size, and a place for it in the tensor: one affine map from scene to tensor.
        offset = [
            float(rng.uniform(min(0, side - factor * extent), max(0, side - factor * extent)))
            for side, extent in ((self.crop[1], width), (self.crop[0], height))
        ]
        image = _place(scene.image, factor, offset, crop=self.crop, fill=PAD_VALUE, method=cv2.INTER_LINEAR)
        label_map = _place(scene.label_map, factor, offset, crop=self.crop, fill=0, method=cv2.INTER_NEAREST)
        boxes, labels = self._boxes(scene, factor, offset)
        pixels = recolour(image, rng)
        return {
            "image": torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))),
            "boxes": torch.from_numpy(boxes),
            "labels": torch.from_numpy(labels),
            "label_map": torch.from_numpy(label_map.astype(np.int64)),
        }

    def _boxes(self, scene: Scene, factor: float, offset: list[float]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """The boxes in the tensor, clipped, without those that the crop has mostly cut off; and their labels."""
        boxes = scene.boxes * np.float32(factor) + np.asarray(offset * 2, np.float32)
        clipped = np.clip(boxes, 0, np.asarray([self.crop[1], self.crop[0]] * 2, np.float32))
        sides, full = clipped[:, 2:] - clipped[:, :2], boxes[:, 2:] - boxes[:, :2]
        kept = (sides.prod(axis=1) >= KEPT_AREA * full.prod(axis=1)) & (sides >= MIN_SIDE).all(axis=1)
        return clipped[kept].astype(np.float32), scene.labels[kept]


def _place(
    image: NDArray[np.uint8], factor: float, offset: list[float], *, crop: tuple[int, int], fill: int, method: int
) -> NDArray[np.uint8]:
    """The image scaled by `factor`, its corner at `offset` (x, y) in a canvas of `crop` (h, w); sizes are rounded."""
    h, w = (max(1, round(side * factor)) for side in image.shape[:2])
    scaled = cv2.resize(image, (w, h), interpolation=method)
    canvas = np.full((*crop, *image.shape[2:]), fill, np.uint8)
    x, y = (round(value) for value in offset)
    x0, y0, x1, y1 = max(x, 0), max(y, 0), min(x + w, crop[1]), min(y + h, crop[0])
    canvas[y0:y1, x0:x1] = scaled[y0 - y : y1 - y, x0 - x : x1 - x]
    return canvas


def recolour(image: NDArray[Any], rng: np.random.Generator) -> NDArray[np.float32]:
    """A picture uint8 [H, W, 3], BGR, in other colours, perhaps negative or grey: float32 [H, W, 3], RGB, 0..1."""
    pixels = np.ascontiguousarray(image[..., ::-1]).astype(np.float32) / np.float32(255)
    if rng.random() < NEGATIVES:
        pixels = 1 - pixels
    if rng.random() < GREYS:
        pixels = np.repeat(pixels.mean(axis=2, keepdims=True), 3, axis=2)
    gain, offset = rng.uniform(0.8, 1.2, 3), rng.uniform(-0.08, 0.08, 3)
    return np.asarray(np.clip(pixels * gain.astype(np.float32) + offset.astype(np.float32), 0, 1), np.float32)


def collate(samples: list[dict[str, Tensor]]) -> dict[str, Any]:
    """Samples -> {"images": float32 [N, 3, H, W], "label_maps": int64 [N, H, W], "targets": [{"boxes", "labels"}]}."""
    return {
        "images": torch.stack([sample["image"] for sample in samples]),
        "label_maps": torch.stack([sample["label_map"] for sample in samples]),
        "targets": [{"boxes": sample["boxes"], "labels": sample["labels"]} for sample in samples],
    }
