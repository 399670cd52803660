"""Single digits, to train a classifier or pre-train a backbone: a small patch shows as much of one as a scene does."""

from collections.abc import Sequence

import cv2
import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from zoo.datasets.digits.training import GREYS, NEGATIVES, PAD_VALUE, TrainScenes
from zoo.datasets.training.colours import recolour

CONTEXT = (1.05, 1.9)  # the patch's side, in longer sides of the digit's box
SHIFT = 0.15  # of the patch's centre, in parts of its side
NUM_CLASSES = 10


class DigitPatches(Dataset[tuple[Tensor, int]]):
    """`length` patches float32 [3, side, side], RGB, 0..1, each with the id of the digit at its middle.

    `label_ids`: the id of each digit; by default the digit itself.
    """

    def __init__(
        self, length: int, side: int, num_scenes: int, seed: int, *, label_ids: Sequence[int] = range(NUM_CLASSES)
    ) -> None:
        self.length, self.side, self.seed, self.label_ids = length, side, seed, label_ids
        self.scenes = TrainScenes(num_scenes)

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[Tensor, int]:
        rng = np.random.default_rng([self.seed, index])
        scene = self.scenes[index]
        chosen = int(rng.integers(len(scene.labels)))
        low, high = scene.boxes[chosen, :2], scene.boxes[chosen, 2:]
        side = float((high - low).max()) * rng.uniform(*CONTEXT)
        corner = (low + high) / 2 + side * rng.uniform(-SHIFT, SHIFT, 2) - side / 2
        # From patch to scene: x = corner + scale * x', between pixel centres.
        scale = side / self.side
        to_scene = np.asarray([[scale, 0, corner[0]], [0, scale, corner[1]]], np.float32)
        patch = cv2.warpAffine(
            scene.image,
            to_scene,
            (self.side, self.side),
            flags=cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP,
            borderValue=(PAD_VALUE,) * 3,
        )
        pixels = recolour(patch, rng, negatives=NEGATIVES, greys=GREYS)
        return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))), self.label_ids[
            int(scene.labels[chosen]) - 1
        ]


def labelled(patches: Sequence[tuple[Tensor, int]]) -> dict[str, Tensor]:
    """A batch: images float32 [N, 3, side, side], labels int64 [N]."""
    images, labels = zip(*patches, strict=True)
    return {"images": torch.stack(images), "labels": torch.tensor(labels)}
