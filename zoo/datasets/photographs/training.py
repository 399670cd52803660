"""Training samples of super-resolution: random crops of the training photographs. Needs [train]."""

from collections.abc import Sequence

import cv2
import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from zoo.datasets.digits.photographs import TRAIN_PHOTOGRAPHS, load_photograph
from zoo.datasets.photographs.low_resolution import low_resolution

MARGIN = 4  # small pixels around a crop: made small with its surroundings, it has the borders of a whole photograph


class PhotographTraining(Dataset[dict[str, Tensor]]):
    """`length` crops of TRAIN_PHOTOGRAPHS, each of another one in turn, mirrored and turned by right angles at random.

    An item: "image" float32 [3, *crop], RGB, 0..1, the small one, and "target" the large one, of crop times its scale.
    All items of a batch of `batch_size` have one scale: the next of `scales` in turn. `zoom`: range of the random
    factor by which the photograph is made smaller (1: not) before it is cropped, where it is large enough.
    The same seed gives the same samples.
    """

    def __init__(
        self,
        length: int,
        batch_size: int,
        crop: tuple[int, int],
        scales: Sequence[int],
        *,
        zoom: tuple[float, float] = (1.0, 1.0),
        seed: int = 0,
    ) -> None:
        self.length, self.batch_size, self.crop = length, batch_size, crop
        self.scales, self.zoom, self.seed = tuple(scales), zoom, seed

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        rng = np.random.default_rng([self.seed, index])
        scale = self.scales[index // self.batch_size % len(self.scales)]
        photograph = load_photograph(TRAIN_PHOTOGRAPHS[index % len(TRAIN_PHOTOGRAPHS)])
        whole = [(side + 2 * MARGIN) * scale for side in self.crop]
        if rng.random() < 0.5:  # noqa: PLR2004 - as often as not
            photograph = photograph.transpose(1, 0, 2)
        photograph = _zoomed(photograph, whole, float(rng.uniform(*self.zoom)))
        top, left = (int(rng.integers(have - want + 1)) for have, want in zip(photograph.shape, whole, strict=False))
        large = photograph[top : top + whole[0], left : left + whole[1]]
        large = large[:: int(rng.choice((-1, 1))), :: int(rng.choice((-1, 1)))]
        small = low_resolution(large, scale)
        return {"image": _tensor(_inside(small, MARGIN)), "target": _tensor(_inside(large, MARGIN * scale))}


def collate(samples: list[dict[str, Tensor]]) -> dict[str, Tensor]:
    """Samples of one scale -> {"images": float32 [N, 3, h, w], "targets": float32 [N, 3, h * s, w * s]}."""
    return {f"{name}s": torch.stack([sample[name] for sample in samples]) for name in ("image", "target")}


def _zoomed(image: NDArray[np.uint8], least: Sequence[int], factor: float) -> NDArray[np.uint8]:
    """The image made smaller by the factor, but not below `least` (height, width)."""
    factor = min(1.0, max(factor, *(want / have for want, have in zip(least, image.shape, strict=False))))
    height, width = (max(want, round(have * factor)) for want, have in zip(least, image.shape, strict=False))
    if (height, width) == image.shape[:2]:
        return image
    return np.asarray(cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA), np.uint8)


def _inside(image: NDArray[np.uint8], margin: int) -> NDArray[np.uint8]:
    return image[margin:-margin, margin:-margin]


def _tensor(image: NDArray[np.uint8]) -> Tensor:
    """uint8 [h, w, 3] BGR -> float32 [3, h, w], RGB, 0..1."""
    return torch.from_numpy(np.ascontiguousarray(image[..., ::-1].transpose(2, 0, 1))).float() / 255
