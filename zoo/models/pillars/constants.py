"""Constants of PointPillars and CenterPoint."""

from collections.abc import Iterator
from typing import Any

from zoo.contract.constants.constant import Case, Constant, constant
from zoo.contract.constants.detection import GATHERS, kept
from zoo.models.pillars.anchors import HALF_TURN
from zoo.models.pillars.center_point import CenterPoint
from zoo.models.pillars.grid import PillarGrid
from zoo.models.pillars.point_pillars import PointPillars
from zoo.pillars import LEVEL
from zoo.target import RESULTS


def point_pillars_constants(model: PointPillars, case: Case) -> Iterator[Constant]:
    """The grid of every level; the anchors and thresholds of those that decide."""
    yield from _grid(model.encoder.grid, case.level)
    if case.level != "raw":
        yield _half_turn()
    if case.level in RESULTS:
        yield constant("anchors", "", model.anchors.cpu().numpy(), *GATHERS)
        yield from _decisions(model, len(model.anchors))


def center_point_constants(model: CenterPoint, case: Case) -> Iterator[Constant]:
    """The grid of every level; the cells and thresholds of those that decide."""
    yield from _grid(model.encoder.grid, case.level)
    if case.level != "raw":
        yield constant("side of a cell", "", model.cell, "Mul")
        yield _half_turn()
    if case.level in RESULTS:
        yield from _decisions(model, len(model.all_cells()) * model.num_classes)


def _grid(grid: PillarGrid, level: str) -> Iterator[Constant]:
    if level == LEVEL:  # the host has the grid, but for the centres of the pillars
        yield constant("side of a pillar", "", grid.side, "Mul")
        for axis, low in zip("xy", grid.low[:2], strict=True):
            if low:  # an exporter leaves out what adds zero
                yield constant(f"lowest {axis}", "", low, "Add")
        return
    yield constant("side of a pillar", "encoder", grid.side, "Div")
    for axis, low, high in zip("xyz", grid.low, grid.high, strict=True):
        yield constant(f"lowest {axis}", "encoder", low, "GreaterOrEqual")
        yield constant(f"highest {axis}", "encoder", high, "Less")
    yield constant("pillars along x", "encoder", float(grid.columns), "Less")
    yield constant("pillars along y", "encoder", float(grid.rows), "Less")


def _half_turn() -> Constant:
    return constant("the yaw from which a whole turn is taken away", "", HALF_TURN, "GreaterOrEqual")


def _decisions(model: Any, places: int) -> Iterator[Constant]:
    candidates = min(model.topk_candidates, places)
    yield from kept(
        "candidates, and detections of a cloud", "", [candidates, min(model.detections_per_img, candidates)]
    )
    yield constant("score threshold", "", model.score_thresh, "Greater")
    yield constant("NMS threshold", "", model.nms_thresh, "Mul")
