"""Single digits, to pre-train a backbone as a classifier: a small patch shows as much of a digit as a scene does."""

import cv2
import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from zoo.datasets.digits.training import PAD_VALUE, TrainScenes, recolour

CONTEXT = (1.05, 1.9)  # the patch's side, in longer sides of the digit's box
SHIFT = 0.15  # of the patch's centre, in parts of its side
NUM_CLASSES = 10


class DigitPatches(Dataset[tuple[Tensor, int]]):
    """`length` patches float32 [3, side, side], RGB, 0..1, each with the digit (0..9) at its middle."""

    def __init__(self, length: int, side: int, num_scenes: int, seed: int) -> None:
        self.length, self.side, self.seed = length, side, seed
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
        pixels = recolour(patch, rng)
        return torch.from_numpy(np.ascontiguousarray(pixels.transpose(2, 0, 1))), int(scene.labels[chosen]) - 1
