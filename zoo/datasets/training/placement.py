"""Where a training sample shows its image: one affine map from the image to the tensor, at random."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from zoo.geometry.rotated_boxes import moved
from zoo.preprocess import resampled

KEPT_AREA = 0.5  # a box is kept where the crop leaves at least this part of it
MIN_SIDE = 4  # pixels


@dataclass(frozen=True)
class Placement:
    """`factors` and `offset`, (x, y), of the image in a tensor of `crop` (height, width) pixels."""

    factors: tuple[float, float]
    offset: tuple[float, float]
    crop: tuple[int, int]

    @classmethod
    def random(
        cls,
        rng: np.random.Generator,
        size: tuple[int, int],
        factors: tuple[float, float],
        scale: Sequence[float],
        crop: tuple[int, int],
    ) -> Self:
        """`factors` times a factor from `scale` (log-uniform), at a random place.

        An image of `size` (height, width) that is smaller than the crop lies anywhere in it; of a larger one any part.
        """
        low, high = np.log(scale)
        factor = float(np.exp(rng.uniform(low, high)))
        x, y = factors[0] * factor, factors[1] * factor
        left, top = (
            float(rng.uniform(min(0, side - extent), max(0, side - extent)))
            for side, extent in ((crop[1], x * size[1]), (crop[0], y * size[0]))
        )
        return cls((x, y), (left, top), crop)

    def image(
        self, image: NDArray[np.uint8], fill: int | tuple[int, int, int], interpolation: str
    ) -> NDArray[np.uint8]:
        """An image or a map uint8 [H, W, ...] in the tensor, `fill` around it; sizes are rounded.

        `interpolation`: of zoo.preprocess.
        """
        w, h = (max(1, round(side * factor)) for side, factor in zip(image.shape[1::-1], self.factors, strict=True))
        scaled = resampled(image, (h, w), interpolation)
        canvas = np.full((*self.crop, *image.shape[2:]), fill, np.uint8)
        x, y = (round(value) for value in self.offset)
        x0, y0, x1, y1 = max(x, 0), max(y, 0), min(x + w, self.crop[1]), min(y + h, self.crop[0])
        canvas[y0:y1, x0:x1] = scaled[y0 - y : y1 - y, x0 - x : x1 - x]
        return canvas

    def boxes(self, boxes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Boxes float32 [n, 4] in the tensor, clipped, without those that the crop has mostly cut off or that are too
        small to be seen; and which they are.
        """
        placed = boxes * np.asarray(self.factors * 2, np.float32) + np.asarray(self.offset * 2, np.float32)
        clipped = np.clip(placed, 0, np.asarray([self.crop[1], self.crop[0]] * 2, np.float32))
        sides, full = clipped[:, 2:] - clipped[:, :2], placed[:, 2:] - placed[:, :2]
        kept = (sides.prod(axis=1) >= KEPT_AREA * full.prod(axis=1)) & (sides >= MIN_SIDE).all(axis=1)
        return clipped[kept].astype(np.float32), np.flatnonzero(kept)

    def rotated_boxes(self, boxes: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
        """Boxes x y w h angle float32 [n, 5] in the tensor, whole, without those whose centre the crop has cut off or
        that are too small to be seen; and which they are.
        """
        placed = moved(boxes, self.factors, (self.offset[0] / self.factors[0], self.offset[1] / self.factors[1]))
        inside = ((placed[:, :2] >= 0) & (placed[:, :2] < (self.crop[1], self.crop[0]))).all(axis=1)
        kept = inside & (placed[:, 2:4] >= MIN_SIDE).all(axis=1)
        return placed[kept].astype(np.float32), np.flatnonzero(kept)

    def points(self, points: NDArray[np.float32]) -> NDArray[np.float32]:
        """Points float32 [n, P, 3], x y visibility, in the tensor; those that are cut off have visibility 0."""
        places = points[:, :, :2] * np.asarray(self.factors, np.float32) + np.asarray(self.offset, np.float32)
        inside = ((places >= 0) & (places < np.asarray([self.crop[1], self.crop[0]]))).all(axis=2, keepdims=True)
        return np.concatenate([places, points[:, :, 2:] * inside], axis=2).astype(np.float32)
