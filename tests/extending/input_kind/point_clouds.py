"""An input kind of one's own: point clouds of any number of points; and a task of them. Production imports these."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from zoo.errors import InputError
from zoo.input_kinds import InputKind, register_input_kind
from zoo.target import AxisRange
from zoo.tasks import register_task
from zoo.tasks.image_classification import ImageClassification
from zoo.tensor_spec import TensorSpec

COORDINATES = TensorSpec("coordinates", "float32", ("batch", "count", 3))
NUM_POINTS = TensorSpec("num_points", "int64", ("batch",))
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
    proof_class: ClassVar[str] = "point_clouds_proof:PointCloudProof"
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
    proof_class: ClassVar[str] = "point_clouds_proof:PointClassificationProof"

    def _draw(self, cloud: Any, result: Any) -> Any:
        return super()._draw(from_above(cloud), result)
