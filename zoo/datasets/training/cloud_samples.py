"""Training samples of point clouds: mirrored, turned and scaled at random."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

from zoo.datasets.evaluation_dataset import EvaluationDataset
from zoo.datasets.training.samples import learned
from zoo.datasets.training.turns import chosen
from zoo.geometry import wrapped_angle
from zoo.input_kinds.points import PointsRule

MIRRORED = 0.5  # part of the samples


class CloudSamples(Dataset[dict[str, Tensor]]):
    """`length` samples: each pass over the clouds of `dataset` takes them in another order.

    An item has "points" float32 [n, 4], "boxes" float32 [m, 7] and "labels" int64 [m]; objects that are "difficult" are
    left out. `mirror`: every other sample, at random, has left and right swapped. `turn`: degrees about z by which it
    is turned at most, either way. `scale`: range of a factor (log-uniform). The same seed gives the same samples.
    """

    sized: ClassVar[bool] = False

    def __init__(
        self,
        dataset: EvaluationDataset,
        length: int,
        *,
        rule: PointsRule,
        scale: tuple[float, float],
        mirror: bool,
        turn: float,
        seed: int,
    ) -> None:
        self.dataset, self.length, self.rule = dataset, length, rule
        self.scale, self.mirror, self.turn, self.seed = scale, mirror, turn, seed

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> dict[str, Tensor]:
        rng = np.random.default_rng([self.seed, index])
        item = self.dataset[chosen(index, len(self.dataset), self.seed)]
        points = item["points"][np.isfinite(item["points"]).all(axis=1)].copy()
        self.rule.check(points, f"point cloud {item['path']}")
        objects = learned(item)
        boxes = item["boxes"][objects]
        if self.mirror and rng.random() < MIRRORED:
            points[:, 1], boxes[:, 1], boxes[:, 6] = -points[:, 1], -boxes[:, 1], -boxes[:, 6]
        angle = np.deg2rad(rng.uniform(-self.turn, self.turn))
        factor = np.exp(rng.uniform(*np.log(self.scale)))
        cosine, sine = np.cos(angle), np.sin(angle)
        rotation = np.array(((cosine, sine), (-sine, cosine)), np.float32)
        for rows in (points, boxes):
            rows[:, :2] = rows[:, :2] @ rotation
            rows[:, :3] *= np.float32(factor)
        boxes[:, 3:6] *= np.float32(factor)
        boxes[:, 6] = wrapped_angle((boxes[:, 6] + angle).astype(np.float32))
        labels = item["labels"][objects]
        return {
            name: torch.from_numpy(rows) for name, rows in (("points", points), ("boxes", boxes), ("labels", labels))
        }

    @staticmethod
    def collate(samples: Sequence[Mapping[str, Tensor]]) -> dict[str, Any]:
        """Samples -> {"points": N x float32 [n, 4], "targets": N x {"boxes": [m, 7], "labels": [m]}}."""
        return {
            "points": [sample["points"] for sample in samples],
            "targets": [{name: sample[name] for name in ("boxes", "labels")} for sample in samples],
        }
