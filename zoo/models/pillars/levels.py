"""PointPillars and CenterPoint at their levels."""

from typing import Any, cast

import torch
from torch import Tensor, nn

from zoo.contract.module_outputs import module_outputs
from zoo.contract.valid_points import valid_points
from zoo.models.pillars.anchors import decoded, directed
from zoo.models.pillars.center_point import CenterMaps, CenterPoint
from zoo.models.pillars.encoder import DECORATED, PillarEncoder
from zoo.models.pillars.point_pillars import AnchorMaps, PointPillars
from zoo.tasks import Task
from zoo.tasks.contract import Contract
from zoo.tasks.detection.proof.contracts import DetectionFinal
from zoo.tensor_spec import TensorSpec

XYZ = 3


def clouds_of(points: Tensor, num_points: Tensor) -> list[Tensor]:
    """See valid_points. A rewriter replaces this name alone: models of other families go on to get a list."""
    return valid_points(points, num_points)


class PillarsFinal(DetectionFinal):
    """-> num_dets int64 [N], boxes float32 [N, K, 7], scores float32 [N, K], labels int64 [N, K].

    Of points float32 [N, count, 4], of which the first num_points int64 [N] count. Unused slots hold zeros, and label
    -1.
    """

    rearranged: tuple[type[nn.Module], ...] = (PillarEncoder,)

    def forward(self, points: Tensor, num_points: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        return self.tensors(self.model(clouds_of(points, num_points), **self.forward_options))


class PillarsFromVoxels(DetectionFinal):
    """-> as PillarsFinal.

    Of voxels float32 [N, P, S, 4], the points of each pillar, of which the first counts int64 [N, P] count, and the
    cell of each pillar int64 [N, P], see backends.voxeliser. A pillar without points is none, whatever its cell. The
    other cells of a cloud are all different.
    """

    unused_rewriters: tuple[str, ...] = ("zoo.PillarEncoder.forward",)

    def forward(self, voxels: Tensor, counts: Tensor, cells: Tensor) -> tuple[Tensor, ...]:  # type: ignore[override]
        model: Any = self.model
        maps = model.head(model.trunk(canvas_of_voxels(model.encoder, voxels, counts, cells)))
        return self.tensors(model.postprocess_detections(*maps))

    def outputs(self, task: Task, level: str) -> tuple[TensorSpec, ...]:  # noqa: ARG002 - it gives what final gives
        """Those of level final."""
        return task.outputs("final")


def canvas_of_voxels(encoder: PillarEncoder, voxels: Tensor, counts: Tensor, cells: Tensor) -> Tensor:
    """-> canvas float32 [N, C, rows, columns], as the encoder makes it of the same points.

    Each pillar without points has a spare row of its own behind the canvas, so that no row is written twice.
    """
    grid, (clouds, pillars, slots, _) = encoder.grid, voxels.shape
    num_cells = grid.rows * grid.columns
    numbers = torch.arange(pillars, device=cells.device)
    used = (torch.arange(slots, device=cells.device) < counts[..., None])[..., None]
    points = torch.where(used, voxels, 0.0)
    mean = points[..., :XYZ].sum(dim=2, keepdim=True) / counts.clamp(min=1, max=slots)[..., None, None]
    row = cells // grid.columns
    column = cells - row * grid.columns
    decorated = encoder.decorated(points, mean, column[..., None].float(), row[..., None].float())
    features = encoder.features(decorated.reshape(clouds, pillars * slots, DECORATED))
    features = features.reshape(clouds, pillars, slots, encoder.channels)
    best = torch.where(used, features, 0.0).amax(dim=2)
    place = torch.where(counts > 0, cells, num_cells + numbers)
    cloud = torch.arange(clouds, device=cells.device)[:, None].expand_as(place)
    rows = best.new_zeros(clouds, num_cells + pillars, encoder.channels).index_put((cloud, place), best)
    return rows[:, :num_cells].transpose(1, 2).reshape(clouds, encoder.channels, grid.rows, grid.columns)


class PillarsRaw(Contract):
    """-> the head's maps, float32, before any sigmoid."""

    rearranged: tuple[type[nn.Module], ...] = (PillarEncoder,)

    def forward(self, points: Tensor, num_points: Tensor) -> tuple[Tensor, ...]:
        return self.maps(points, num_points)

    def maps(self, points: Tensor, num_points: Tensor) -> tuple[Tensor, ...]:
        """What the head gives. The whole model runs: what follows leaves no trace in a graph without it."""
        model: Any = self.model
        with module_outputs({"head": model.head}) as seen:
            model(clouds_of(points, num_points), **self.forward_options)
        maps: tuple[Tensor, ...] = seen["head"]
        return maps


class PointPillarsRaw(PillarsRaw):
    """-> class_logits [N, M, C], box_codes [N, M, 7], direction_logits [N, M, 2]: see AnchorMaps."""

    raw_names: tuple[str, ...] = AnchorMaps._fields


class PointPillarsDecoded(PillarsRaw):
    """-> boxes [N, M, 7], scores [N, M, C] of all anchors, by row, column, class and yaw; before thresholds and NMS."""

    def forward(self, points: Tensor, num_points: Tensor) -> tuple[Tensor, ...]:
        maps = AnchorMaps(*self.maps(points, num_points))
        boxes = decoded(maps.box_codes, cast("PointPillars", self.model).anchors)
        return directed(boxes, maps.direction_logits), maps.class_logits.sigmoid()


class CenterPointRaw(PillarsRaw):
    """-> heatmap, offset, height, size, rotation [N, channels, h, w]: see CenterMaps."""

    raw_names: tuple[str, ...] = CenterMaps._fields


class CenterPointDecoded(PillarsRaw):
    """-> boxes [N, M, 7], scores [N, M, C] of all cells, by row and column; before thresholds and NMS.

    A score is 0 where the cell is not the largest of the cells around it.
    """

    def forward(self, points: Tensor, num_points: Tensor) -> tuple[Tensor, ...]:
        model = cast("CenterPoint", self.model)
        maps = CenterMaps(*self.maps(points, num_points))
        return model.decoded(maps.codes(), model.all_cells()), model.peaks(maps.heatmap)
