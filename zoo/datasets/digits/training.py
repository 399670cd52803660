"""Training samples of the digits: scenes made on the fly, cropped, scaled and with other colours. Needs [train]."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from zoo.datasets.digits.corners import corner_points
from zoo.datasets.digits.scene import Scene, make_scene
from zoo.registry import DATASETS

PAD_VALUE = 114
KEPT_AREA = 0.5  # a box is kept where the crop leaves at least this part of it
MIN_SIDE = 4  # pixels
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
        low, high = np.log(self.scale)
        factor = min(self.size[0] / height, self.size[1] / width) * float(np.exp(rng.uniform(low, high)))
        # A crop of at most the tensor's size, and a place for it in the tensor: one affine map from scene to tensor.
        offset = [
            float(rng.uniform(min(0, side - factor * extent), max(0, side - factor * extent)))
            for side, extent in ((self.crop[1], width), (self.crop[0], height))
        ]
        image = _place(scene.image, factor, offset, crop=self.crop, fill=PAD_VALUE, method=cv2.INTER_LINEAR)
        label_map = _place(scene.label_map, factor, offset, crop=self.crop, fill=0, method=cv2.INTER_NEAREST)
        boxes, kept = self._boxes(scene, factor, offset)
        pixels = recolour(image, rng)
        sample = {
            "image": torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))),
            "boxes": torch.from_numpy(boxes),
            "labels": self.label_ids[torch.from_numpy(scene.labels[kept] - 1)],
            "label_map": torch.from_numpy(label_map.astype(np.int64)),
        }
        if "masks" in self.details:
            instances = _place(scene.instance_map, factor, offset, crop=self.crop, fill=0, method=cv2.INTER_NEAREST)
            sample["masks"] = torch.from_numpy((instances == kept[:, None, None] + 1).astype(np.uint8))
        if "keypoints" in self.details:
            sample["keypoints"] = torch.from_numpy(self._corners(scene.corners[kept], factor, offset))
        return sample

    def _boxes(
        self, scene: TrainScene, factor: float, offset: list[float]
    ) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """The boxes in the tensor, clipped, without those that the crop has mostly cut off; and which they are."""
        boxes = scene.boxes * np.float32(factor) + np.asarray(offset * 2, np.float32)
        clipped = np.clip(boxes, 0, np.asarray([self.crop[1], self.crop[0]] * 2, np.float32))
        sides, full = clipped[:, 2:] - clipped[:, :2], boxes[:, 2:] - boxes[:, :2]
        kept = (sides.prod(axis=1) >= KEPT_AREA * full.prod(axis=1)) & (sides >= MIN_SIDE).all(axis=1)
        return clipped[kept].astype(np.float32), np.flatnonzero(kept)

    def _corners(self, corners: NDArray[np.float32], factor: float, offset: list[float]) -> NDArray[np.float32]:
        """Corners float32 [n, 4, 3] of the scene -> in the tensor."""
        places = corners[:, :, :2] * np.float32(factor) + np.asarray(offset, np.float32)
        inside = ((places >= 0) & (places < np.asarray([self.crop[1], self.crop[0]]))).all(axis=2, keepdims=True)
        return np.concatenate([places, corners[:, :, 2:] * inside], axis=2).astype(np.float32)


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
    """An image uint8 [H, W, 3], BGR, in other colours, perhaps negative or grey: float32 [H, W, 3], RGB, 0..1."""
    pixels = np.ascontiguousarray(image[..., ::-1]).astype(np.float32) / np.float32(255)
    if rng.random() < NEGATIVES:
        pixels = 1 - pixels
    if rng.random() < GREYS:
        pixels = np.repeat(pixels.mean(axis=2, keepdims=True), 3, axis=2)
    gain, offset = rng.uniform(0.8, 1.2, 3), rng.uniform(-0.08, 0.08, 3)
    return np.asarray(np.clip(pixels * gain.astype(np.float32) + offset.astype(np.float32), 0, 1), np.float32)


def collate(samples: list[dict[str, Tensor]]) -> dict[str, Any]:
    """Samples -> {"images": float32 [N, 3, H, W], "label_maps": int64 [N, H, W], "targets": N x what is of objects}."""
    whole = {"images": "image", "label_maps": "label_map"}
    targets = [{name: sample[name] for name in sample.keys() - whole.values()} for sample in samples]
    return {key: torch.stack([sample[name] for sample in samples]) for key, name in whole.items()} | {
        "targets": targets
    }
