"""What a deploy and an evaluation of point clouds need: the proofs, a model and a data set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from point_clouds import COORDINATES, NUM_POINTS, PointClouds, Scale, from_above
from torch import Tensor, nn

from zoo.datasets.evaluation_dataset import EvaluationDataset, ImageEntry
from zoo.input_kinds.proof import InputProof
from zoo.registry import DATASETS, MODELS
from zoo.tasks.contract import Contract
from zoo.tasks.image_classification import ClassificationResult
from zoo.tasks.image_classification.proof import ClassificationProof

ENDS = (1.0, 0.5, 0.25)  # parts of a tensor that the clouds of a batch fill, in turn


@dataclass(frozen=True)
class PlacedCloud:
    """`tensor` float32 [1, n, 3], scaled."""

    tensor: Tensor

    def valid(self, tensor: Tensor, *, image_sizes: bool) -> Tensor:
        return tensor[: self.tensor.shape[1]]


class PointCloudProof(InputProof):
    """The reference scales by PyTorch. A cloud has as many points as a case of the graph asks for, or is filled up."""

    unit: ClassVar[str] = "metres"

    def reference_input(self, value: Any, rule: Scale) -> PlacedCloud:
        return PlacedCloud(torch.from_numpy(value)[None] * rule.scale)

    def graph_arrays(
        self, values: Sequence[Any], sizes: Mapping[str, int], rule: Scale, *, image_sizes: bool
    ) -> dict[str, Any]:
        clouds = [self.reference_input(value[: sizes["count"]], rule).tensor[0].numpy() for value in values]
        points = np.zeros((len(clouds), sizes["count"], 3), np.float32)
        for slot, cloud in zip(points, clouds, strict=True):
            slot[: len(cloud)] = cloud
        return {COORDINATES.name: points, NUM_POINTS.name: np.array([len(cloud) for cloud in clouds], np.int64)}

    def other_ends(self, arrays: Mapping[str, Any], numbers: Sequence[int]) -> dict[str, Any]:
        count = arrays[COORDINATES.name].shape[1]
        ends = [max(1, int(count * ENDS[number % len(ENDS)])) for number in numbers]
        return {**arrays, NUM_POINTS.name: np.array(ends, np.int64)}


class PointClassificationFinal(Contract):
    """-> scores float32 [N, C]: probabilities."""

    def forward(self, coordinates: Tensor, num_points: Tensor) -> tuple[Tensor, ...]:
        return (self.model(coordinates, num_points, **self.forward_options).softmax(dim=1),)


class PointClassificationProof(ClassificationProof):
    """As of images; the unpatched model is given the points of one cloud, without any padding."""

    contracts: ClassVar[Mapping[str, Any]] = {"final": PointClassificationFinal}

    def eager_result(self, model: nn.Module, forward: Mapping[str, Any], cloud: Tensor, placed: Any) -> Any:
        return ClassificationResult.of(model(cloud[None], **forward)[0].softmax(dim=0).numpy()), None

    def difference(self, cloud: Any, reference: Any, candidate: Any, gates: Any) -> Any:
        return super().difference(from_above(cloud), reference, candidate, gates)


@MODELS.register_module()
class PointNet(nn.Module):
    """points float32 [N, n, 3], of which the first num_points int64 [N] count -> logits [N, 2]: lying, standing.

    A small PointNet: a layer for each point, the largest values of all points, a layer for the cloud. Its weights are
    made by hand: how far the cloud reaches in the plane, and how far in height.
    """

    def __init__(self) -> None:
        super().__init__()
        self.point = nn.Linear(3, 6, bias=False)
        self.cloud = nn.Linear(6, 2, bias=False)
        self.point.weight.data = torch.cat((torch.eye(3), -torch.eye(3)))
        self.cloud.weight.data = torch.tensor([[1.0, 1, 0, 1, 1, 0], [0, 0, 1.5, 0, 0, 1.5]])

    def forward(self, points: Tensor, num_points: Tensor | None = None) -> Tensor:
        features = self.point(points).relu()
        if num_points is not None:
            padding = torch.arange(points.shape[1]) >= num_points[:, None]
            features = features.masked_fill(padding[:, :, None], 0.0)
        logits: Tensor = self.cloud(features.amax(dim=1))
        return logits


@DATASETS.register_module()
class Bars(EvaluationDataset):
    """The clouds of a folder, which are named after their class: `lying_03.npy`."""

    input_kind: ClassVar[str] = "xyz"

    def __init__(self, root: str, *, classes: Sequence[Any]) -> None:
        self.root = Path(root)
        super().__init__(classes=classes)

    def _input(self, entry: ImageEntry) -> Any:
        return PointClouds().read(entry.path)

    def _index(self, faults: Any) -> list[ImageEntry]:
        if not (paths := sorted(self.root.glob("*.npy"))):
            faults.add(self.root, "no .npy files, expected one or more")
        return [ImageEntry(path, number, (0, 0)) for number, path in enumerate(paths)]

    def _truth(self, index: int) -> dict[str, Any]:
        name = self.entries[index].path.stem.partition("_")[0]
        return {"label": [info.name for info in self.classes].index(name)}
