"""How point clouds are prepared for a proof: by the reference, of any count, with ends of their own, and composed."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from zoo.input_kinds.input_kind import Array
from zoo.input_kinds.points.cloud_form import COLUMNS
from zoo.input_kinds.points.kind import COUNT, NUM_POINTS, POINTS
from zoo.input_kinds.points.rule import PointsRule
from zoo.input_kinds.points.small_cloud import packed_cloud
from zoo.input_kinds.proof import InputProof

ENDS = (1.0, 0.0, 0.5, 0.85)
"""The parts of a tensor that the clouds of the batch of other ends fill, in turn: one of them is empty."""
SEED = 20


@dataclass(frozen=True)
class PlacedCloud:
    """`tensor` float32 [1, count, 4], of which the first `number` points count."""

    tensor: Tensor
    number: int

    def valid(self, tensor: Tensor, *, image_sizes: bool) -> Tensor:
        """[n, 4]: without the zeros behind the cloud."""
        return tensor[: self.number]


class PointsProof(InputProof):
    """Nothing is resampled: the reference's tensor is the deployment's."""

    unit: ClassVar[str] = "m"

    def reference_input(self, value: NDArray[np.float32], rule: PointsRule) -> PlacedCloud:
        """By PyTorch: points that are not finite left out, zeros behind."""
        cloud = torch.tensor(np.ascontiguousarray(value))
        kept = cloud[~(torch.isnan(cloud) | torch.isinf(cloud)).any(dim=1)]
        least = 1 if rule.count is None else rule.count[0]
        padding = max(0, least - len(kept))
        return PlacedCloud(torch.nn.functional.pad(kept, (0, 0, 0, padding))[None], len(kept))

    def graph_arrays(
        self, values: Sequence[Any], sizes: Mapping[str, int], rule: PointsRule, *, image_sizes: bool
    ) -> dict[str, Array]:
        """Clouds of at most so many points; of larger ones points that are evenly spread over the scan."""
        points = np.zeros((len(values), sizes[COUNT], COLUMNS), np.float32)
        numbers = []
        for slot, value in zip(points, values, strict=True):
            placed = self.reference_input(value, rule)
            cloud = thinned(placed.valid(placed.tensor[0], image_sizes=False).numpy(), len(slot))
            slot[: len(cloud)] = cloud
            numbers.append(len(cloud))
        return {POINTS.name: points, NUM_POINTS.name: np.array(numbers, np.int64)}

    def other_ends(self, arrays: Mapping[str, Array], numbers: Sequence[int]) -> dict[str, Array]:
        """Clouds that end earlier, one of them at once: the points behind their ends must not matter."""
        parts = np.array([ENDS[number % len(ENDS)] for number in numbers])
        return {**arrays, NUM_POINTS.name: (arrays[NUM_POINTS.name] * parts).astype(np.int64)}

    def packed(
        self, value: Any, sizes: Mapping[str, int], rule: PointsRule, batch: int, *, image_sizes: bool
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """The cloud in centimetres."""
        placed = self.reference_input(value, rule)
        cloud = thinned(placed.valid(placed.tensor[0], image_sizes=False).numpy(), sizes[COUNT])
        return {**packed_cloud(cloud, rule.intensity), "size": np.array((batch, sizes[COUNT]))}, {}

    def composed(self, inputs: Sequence[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
        """Mirrored, in another order, half of two clouds each, and nearer."""
        rng = np.random.default_rng(SEED)
        for name, cloud in inputs[:2]:
            yield f"{name} (mirrored)", cloud * np.array((1, -1, 1, 1), np.float32)
            yield f"{name} (shuffled)", cloud[rng.permutation(len(cloud))]
        (name, first), (_, second) = inputs[0], inputs[-1]
        yield f"{name} (two clouds)", np.concatenate((first[::2], second[1::2]))[: len(first)]
        yield f"{name} (half as far)", first * np.array((0.5, 0.5, 1, 1), np.float32)


def thinned(cloud: NDArray[np.float32], most: int) -> NDArray[np.float32]:
    """At most so many points, in their order."""
    if len(cloud) <= most:
        return cloud
    return cloud[np.linspace(0, len(cloud) - 1, most).astype(np.int64)]
