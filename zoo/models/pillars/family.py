"""The families of PointPillars and CenterPoint."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any, ClassVar, cast

from torch import Tensor, nn

from zoo.comparison.decision_rule import DecisionRule
from zoo.contract.constants import Case, Constant
from zoo.contract.coverage import Usage
from zoo.families import Contracts, Family, register
from zoo.input_kinds.points.kind import COUNT
from zoo.models.pillars.center_point import CenterPoint
from zoo.models.pillars.constants import center_point_constants, point_pillars_constants
from zoo.models.pillars.coverage import pillars_coverage
from zoo.models.pillars.levels import (
    CenterPointDecoded,
    CenterPointRaw,
    PillarsFinal,
    PillarsFromVoxels,
    PointPillarsDecoded,
    PointPillarsRaw,
)
from zoo.models.pillars.on_host import pillars_on_host
from zoo.models.pillars.other_places import Result, other_places
from zoo.models.pillars.point_pillars import PointPillars
from zoo.pillars import LEVEL, Pillars
from zoo.target import Target


class PillarsFamily(Family):
    """Detectors on pillars: their numbers of points may be any, their grid is fixed."""

    rewriters: ClassVar[str | None] = "rewriters.pillars"
    float32_parts: ClassVar[tuple[str, ...]] = ("head",)

    def decision_rule(self, model: nn.Module) -> DecisionRule:
        """With the number of candidates that meet in NMS."""
        return replace(
            super().decision_rule(model), candidates=cast("PointPillars | CenterPoint", model).topk_candidates
        )

    def other_choices(
        self,
        model: nn.Module,
        run: Callable[[], Result],
        tolerance: float,  # noqa: ARG002 - what is near an edge is said in metres
    ) -> Iterator[tuple[int, str, Callable[[], Result]]]:
        """Points near the edge of a pillar in the neighbouring one."""
        return other_places(model, run)

    def pillars(
        self, model: nn.Module, target: Target, options: Mapping[str, Any], clouds: Sequence[Any]
    ) -> Pillars | None:
        """At their own level."""
        if target.level != LEVEL:
            return None
        grid = cast("PointPillars | CenterPoint", model).encoder.grid
        return pillars_on_host(grid, options, clouds, target.sides[COUNT].max)

    def losses(self, model: Any, batch: Mapping[str, Any]) -> Mapping[str, Tensor]:
        """Of points, N x float32 [n, 4], and targets, N x {"boxes", "labels"}."""
        losses: Mapping[str, Tensor] = model(batch["points"], batch["targets"])
        return losses


@register(PointPillars)
class PointPillarsFamily(PillarsFamily):
    """Anchors, with a direction beside each box."""

    name: ClassVar[str] = "PointPillars"
    contracts: ClassVar[Contracts] = {
        ("detection3d", "final"): PillarsFinal,
        ("detection3d", LEVEL): PillarsFromVoxels,
        ("detection3d", "decoded"): PointPillarsDecoded,
        ("detection3d", "raw"): PointPillarsRaw,
    }

    def constants(self, model: nn.Module, case: Case) -> Iterator[Constant]:
        """Grid, anchors and thresholds."""
        return point_pillars_constants(cast("PointPillars", model), case)

    def coverage(self, model: nn.Module, usage: Usage) -> AbstractContextManager[None]:
        """Grid and thresholds, of each anchor's best class."""
        return pillars_coverage(
            cast("PointPillars", model), usage, lambda class_logits, *_: class_logits.sigmoid().amax(dim=2)
        )


@register(CenterPoint)
class CenterPointFamily(PillarsFamily):
    """Peaks of a heatmap."""

    name: ClassVar[str] = "CenterPoint"
    contracts: ClassVar[Contracts] = {
        ("detection3d", "final"): PillarsFinal,
        ("detection3d", LEVEL): PillarsFromVoxels,
        ("detection3d", "decoded"): CenterPointDecoded,
        ("detection3d", "raw"): CenterPointRaw,
    }

    def constants(self, model: nn.Module, case: Case) -> Iterator[Constant]:
        """Grid and thresholds."""
        return center_point_constants(cast("CenterPoint", model), case)

    def coverage(self, model: nn.Module, usage: Usage) -> AbstractContextManager[None]:
        """Grid and thresholds, of each pair of cell and class."""
        center_point = cast("CenterPoint", model)
        return pillars_coverage(center_point, usage, lambda heatmap, *_: center_point.peaks(heatmap))
