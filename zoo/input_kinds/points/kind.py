"""Point clouds, float32 [n, 4]: the tensors points float32 [N, count, 4] and num_points int64 [N]."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.input_kinds.input_kind import Array, InputKind
from zoo.input_kinds.points.cloud_form import COLUMNS
from zoo.input_kinds.points.reading import SUFFIXES, decode_cloud, npy_bytes, read_cloud
from zoo.input_kinds.points.rule import PointsRule
from zoo.input_kinds.points.small_cloud import unpacked_cloud
from zoo.input_kinds.registry import register_input_kind
from zoo.target import AxisRange
from zoo.tensor_spec import TensorSpec

POINTS = TensorSpec("points", "float32", ("batch", "count", COLUMNS))
"""x y z in metres, x forward, y left, z up; and the intensity. Zeros behind the last point."""
NUM_POINTS = TensorSpec("num_points", "int64", ("batch",))
"""How many points each cloud has; 0 to count."""
VOXELS = TensorSpec("voxels", "float32", ("batch", "pillars", "slots", COLUMNS))
COUNTS = TensorSpec("counts", "int64", ("batch", "pillars"))
CELLS = TensorSpec("cells", "int64", ("batch", "pillars"))
"""The points of each pillar, how many they are, and the pillar's cell, row * columns + column: see zoo.pillars."""
COUNT = "count"
USUAL_COUNTS = AxisRange(1, 16384, 65536)  # of a config that says nothing else


@register_input_kind
class PointsKind(InputKind):
    """Its rule is a PointsRule; its geometries are the numbers of points, int.

    Points that are not finite, as organised clouds have them where nothing was measured, are left out. Clouds of any
    sizes share a batch: zeros fill the smaller ones up. A cloud of more points than the graph takes is an error:
    nothing is cut off.
    """

    name: ClassVar[str] = "points"
    noun: ClassVar[str] = "point cloud"
    inputs: ClassVar[tuple[TensorSpec, ...]] = (POINTS, NUM_POINTS)
    host_inputs: ClassVar[tuple[TensorSpec, ...]] = (VOXELS, COUNTS, CELLS)
    preprocess_schema: ClassVar[Mapping[str, Any]] = {
        "type": "object",
        "properties": {
            "intensity": {
                "description": "lowest and highest intensity that the model was trained with; every call checks it",
                "type": "array",
                "minItems": 2,
                "maxItems": 2,
                "items": {"type": "number"},
            },
            "count": {
                "description": "fewest and most points of a tensor; smaller clouds are filled up, larger ones refused",
                "type": ["array", "null"],
                "minItems": 2,
                "maxItems": 2,
                "items": {"type": "integer", "minimum": 1},
            },
        },
        "required": ["intensity", "count"],
        "additionalProperties": False,
    }
    proof_class: ClassVar[str] = "zoo.input_kinds.points.proof:PointsProof"
    gates: ClassVar[Mapping[str, Mapping[str, float]]] = {"pipeline": {"input_max": 1e-6, "input_mean": 1e-6}}
    training_class: ClassVar[str | None] = "zoo.datasets.training.cloud_samples:CloudSamples"
    suffixes: ClassVar[tuple[str, ...]] = SUFFIXES

    def size_words(self, size: Sequence[int]) -> str:
        """How many points there are."""
        return f"{size[0]} points"

    def specs(self, *, image_sizes: bool = False) -> tuple[TensorSpec, ...]:
        """Both."""
        return self.inputs

    def sides(self, rule: PointsRule) -> Mapping[str, AxisRange]:
        """Of any cloud of a usual sensor."""
        return {COUNT: USUAL_COUNTS}

    def target_rule(self, rule: PointsRule, sides: Mapping[str, AxisRange]) -> PointsRule:
        """With the numbers of points that the target's tensors hold."""
        return replace(rule, count=(sides[COUNT].min, sides[COUNT].max))

    def rule(self, fields: Mapping[str, Any]) -> PointsRule:
        """See PointsRule."""
        return PointsRule.from_dict(fields)

    def contradictions(
        self, fields: Mapping[str, Any], spec: Mapping[str, Any], axes: Mapping[str, Any]
    ) -> Iterator[str]:
        """Numbers of points that the graph does not take."""
        side = spec["shape"][1]
        least, most = (side, side) if isinstance(side, int) else (axes[side]["min"], axes[side]["max"])
        if fields["count"] is None or list(fields["count"]) != [least, most]:
            yield f"preprocess.count: got {fields['count']}, and {spec['name']} takes {least} to {most}"

    def read(self, path: str | Path) -> NDArray[np.float32]:
        """By its suffix, see reading.py."""
        cloud = read_cloud(path)
        self.check(cloud, f"point cloud {path}")
        return cloud

    def file_content(self, value: NDArray[np.float32]) -> bytes:
        """An .npy file, which `decode` knows by its first bytes."""
        return npy_bytes(value)

    def decode(self, content: bytes, label: str) -> NDArray[np.float32]:
        """In memory; what is not .npy is KITTI's."""
        cloud = decode_cloud(content, Path(label).name, label)
        self.check(cloud, f"point cloud {label}")
        return cloud

    def check(self, value: object, what: str) -> None:
        """float32 [n, 4]; an empty cloud is one."""
        if isinstance(value, np.ndarray) and value.dtype == np.float32 and value.shape[1:] == (COLUMNS,):
            return
        got = f"{value.dtype} {list(value.shape)}" if isinstance(value, np.ndarray) else type(value).__name__
        raise InputError(f"{what}: got {got}, expected float32 [n, {COLUMNS}], x y z in metres and the intensity")

    def check_for(self, rule: PointsRule, value: Any, what: str) -> None:
        """Also its intensities, and how many points it has."""
        self.check(value, what)
        rule.check(finite(value), what)

    def alike(self, rule: PointsRule, value: Array, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """All clouds may share a batch."""
        return ()

    def slot_shape(self, rule: PointsRule, values: Sequence[Array]) -> tuple[int, ...]:
        """[count, 4], for the largest of them."""
        least = 1 if rule.count is None else rule.count[0]
        return (max(least, *(len(finite(value)) for value in values)), COLUMNS)

    def fill(self, rule: PointsRule, value: Array, slot: NDArray[np.float32]) -> int:
        """The finite points, and zeros behind them."""
        cloud = finite(value)
        slot[: len(cloud)] = cloud
        slot[len(cloud) :] = 0
        return len(cloud)

    def geometry_numbers(self, geometry: int) -> NDArray[np.int64]:
        """One."""
        return np.array([geometry], np.int64)

    def geometry_of(self, numbers: NDArray[np.int64]) -> int:
        """The inverse."""
        return int(numbers[0])

    def companions(self, geometries: Sequence[int]) -> Mapping[str, Array]:
        """Where each cloud ends."""
        return {NUM_POINTS.name: np.array(geometries, np.int64)}

    def check_arrays(self, arrays: Mapping[str, Array]) -> None:
        """Whether each cloud ends inside its tensor."""
        if NUM_POINTS.name not in arrays:
            return
        ends, count = arrays[NUM_POINTS.name], arrays[POINTS.name].shape[1]
        if ((ends < 0) | (ends > count)).any():
            raise InputError(f'input "{NUM_POINTS.name}": got {ends.tolist()}, expected 0 to {count} for each cloud')

    def unpacked(self, packed: Mapping[str, Array]) -> dict[str, Array]:
        """`packed`: of `packed_cloud`, and the `size` (N, count) of the tensor."""
        cloud = unpacked_cloud(packed)
        batch, count = (int(side) for side in packed["size"])
        points = np.zeros((batch, count, COLUMNS), np.float32)
        points[:, : len(cloud)] = cloud
        return {POINTS.name: points, NUM_POINTS.name: np.full(batch, len(cloud), np.int64)}

    def words(self, rule: PointsRule) -> str:
        """What clouds must keep to."""
        low, high = rule.intensity
        return f"intensity {low:g} to {high:g}"

    def feed_example(self, names: Sequence[str]) -> str:
        """With where each cloud ends."""
        return f'{{"{POINTS.name}": array, "{NUM_POINTS.name}": numpy.array(geometries)}}'


def finite(cloud: NDArray[np.float32]) -> NDArray[np.float32]:
    """The points whose four numbers are finite, in their order; the cloud itself where all are."""
    good = np.isfinite(cloud)
    return cloud if good.all() else cloud[good.all(axis=1)]
