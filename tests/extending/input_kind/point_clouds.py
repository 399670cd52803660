"""An input kind of one's own: point clouds of any number of points. With a task, proofs, a model and a data set."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from zoo.contract import Contract
from zoo.datasets.evaluation_dataset import EvaluationDataset, ImageEntry
from zoo.errors import InputError
from zoo.input_kinds import InputKind, register_input_kind
from zoo.input_kinds.proof import InputProof
from zoo.registry import DATASETS, MODELS
from zoo.target import AxisRange
from zoo.tasks import register_task
from zoo.tasks.image_classification import ClassificationResult, ImageClassification
from zoo.tasks.image_classification.proof import ClassificationProof
from zoo.tensor_spec import TensorSpec

COORDINATES = TensorSpec("coordinates", "float32", ("batch", "count", 3))
NUM_POINTS = TensorSpec("num_points", "int64", ("batch",))
ENDS = (1.0, 0.5, 0.25)  # parts of a tensor that the clouds of a batch fill, in turn
VIEW = 192  # pixels of a drawing, and
METRES = 4.0  # of the square that it shows


@dataclass(frozen=True)
class Scale:
    """The rule: what coordinates are multiplied by."""

    scale: float = 1.0

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


@register_input_kind
class PointClouds(InputKind):
    """Clouds float32 [n, 3]: x y z in metres. Zeros fill a batch up to its largest; num_points says where each ends."""

    name: ClassVar[str] = "xyz"
    noun: ClassVar[str] = "point cloud"
    suffixes: ClassVar[tuple[str, ...]] = (".npy",)
    inputs: ClassVar[tuple[TensorSpec, ...]] = (COORDINATES, NUM_POINTS)
    proof_class: ClassVar[str] = "point_clouds:PointCloudProof"
    gates: ClassVar[Mapping[str, Mapping[str, float]]] = {"pipeline": {"input_max": 1e-6, "input_mean": 1e-6}}
    preprocess_schema: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {"scale": {"type": "number"}},
        "required": ["scale"],
        "additionalProperties": False,
    }

    def specs(self, *, image_sizes: bool = False) -> tuple[TensorSpec, ...]:
        return self.inputs

    def sides(self, rule: Scale) -> Mapping[str, AxisRange]:
        return {"count": AxisRange(1, 256, 4096)}

    def rule(self, fields: Mapping[str, Any]) -> Scale:
        if set(fields) - {"scale"} or not isinstance(fields.get("scale", 1.0), int | float):
            raise InputError(f"preprocess: got {dict(fields)}, expected dict(scale=NUMBER)")
        return Scale(**fields)

    def read(self, path: str | Path) -> Any:
        try:
            cloud = np.load(path, allow_pickle=False)
        except (OSError, ValueError) as error:
            raise InputError(f"point cloud {path}: not an .npy file ({error}); give one of float32 [n, 3]") from error
        self.check(cloud, f"point cloud {path}")
        return cloud

    def check(self, value: object, what: str) -> None:
        if not isinstance(value, np.ndarray) or value.dtype != np.float32 or value.shape[1:] != (3,) or not len(value):
            got = f"{value.dtype} {list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
            raise InputError(f"{what}: got {got}, expected float32 [n, 3] of one point or more")

    def alike(self, rule: Scale, value: Any, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        return ()  # any clouds may share a batch

    def slot_shape(self, rule: Scale, values: Sequence[Any]) -> tuple[int, ...]:
        return (max(map(len, values)), 3)

    def fill(self, rule: Scale, value: Any, slot: Any) -> int:
        slot[: len(value)] = value * np.float32(rule.scale)
        slot[len(value) :] = 0
        return len(value)

    def companions(self, geometries: Sequence[int]) -> Mapping[str, Any]:
        return {NUM_POINTS.name: np.array(geometries, np.int64)}

    def check_arrays(self, arrays: Mapping[str, Any]) -> None:
        count = arrays[COORDINATES.name].shape[1]
        if not ((arrays[NUM_POINTS.name] >= 1) & (arrays[NUM_POINTS.name] <= count)).all():
            raise InputError(
                f'input "{NUM_POINTS.name}": got {arrays[NUM_POINTS.name].tolist()}, expected 1 to {count}'
            )

    def feed_example(self, names: Sequence[str]) -> str:
        return '{"coordinates": array, "num_points": numpy.array(geometries)}'


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


def from_above(cloud: Any) -> Any:
    """The points on black, x to the right and y up, uint8 BGR; the higher, the brighter."""
    canvas = np.zeros((VIEW, VIEW, 3), np.uint8)
    places = ((cloud[:, :2] / METRES + 0.5) * VIEW).astype(int).clip(0, VIEW - 1)
    canvas[VIEW - 1 - places[:, 1], places[:, 0]] = 128 + (cloud[:, 2:] * 32).clip(-64, 127).astype(np.uint8)
    return canvas


@register_task
class PointClassification(ImageClassification):
    """One class for a cloud."""

    name: ClassVar[str] = "point-classification"
    input_kind: ClassVar[str] = "xyz"
    proof_class: ClassVar[str] = "point_clouds:PointClassificationProof"

    def _draw(self, cloud: Any, result: Any) -> Any:
        return super()._draw(from_above(cloud), result)


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
