"""The constants of PointPillars and CenterPoint, grid, anchors and thresholds, in graphs of both exporters."""

import functools
import tempfile
from pathlib import Path

import numpy as np
import onnx
import pytest

from pipeline.export.constants import constants_of_graph
from pipeline.export.host_pillars import PillarsOnHost
from pipeline.parity.records import ComparedConstant
from tests.examples import slow_but
from tests.rewriters.small_pillars import NAMES, export_pillars, in_pillars, padded, random_clouds, small_pillars
from zoo.contract.constants import Case
from zoo.families import family_of
from zoo.pillars import LEVEL

FORMS = [
    pytest.param((name, exporter), marks=pytest.mark.slow if exporter == "dynamo" else ())
    for name in NAMES
    for exporter in ("torchscript", "dynamo")
]
GRID = {"side of a pillar", *(f"{end} {axis}" for end in ("lowest", "highest") for axis in "xyz")}
GRID |= {"pillars along x", "pillars along y"}
TURN = "the yaw from which a whole turn is taken away"
DECISIONS = {"candidates, and detections of a cloud", "score threshold", "NMS threshold"}
OF_LEVEL = {
    "PointPillars": {"final": {"anchors", TURN, *DECISIONS}, "decoded": {TURN}, "raw": set()},
    "CenterPoint": {"final": {"side of a cell", TURN, *DECISIONS}, "decoded": {"side of a cell", TURN}, "raw": set()},
}


@functools.cache
def graph_of(name: str, exporter: str, level: str) -> onnx.ModelProto:
    with tempfile.TemporaryDirectory() as folder:
        export_pillars(Path(folder, "model.onnx"), small_pillars(name), exporter, "onnxruntime", level)
        return onnx.load(Path(folder, "model.onnx"))


def compared(name: str, exporter: str, level: str = "final", **changes: float) -> list[ComparedConstant]:
    """`changes`: of the model, beside its graph."""
    model = small_pillars(name, **changes)
    case = Case(level, fixed=False, shape=(2, 200, 4), outputs=lambda modules: {})
    example, content = padded(random_clouds(2, 200, 1), 200), ()
    if level == LEVEL:
        example, content = in_pillars(model, example), PillarsOnHost.content
    inputs = {key: tensor.numpy() for key, tensor in example.items()}
    constants = list(family_of(model).constants(model, case))
    return constants_of_graph(graph_of(name, exporter, level), constants, inputs, content=content)


@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_all_are_in_the_graph(form: tuple[str, str]) -> None:
    constants = compared(*form)
    assert not [one for one in constants if not one.passed]
    assert {one.name for one in constants} == GRID | OF_LEVEL[form[0]]["final"]


@pytest.mark.parametrize(
    ("name", "level"),
    slow_but(
        [(name, level) for name in NAMES for level in ("decoded", "raw")],
        ("PointPillars", "decoded"),
        ("CenterPoint", "raw"),
    ),
)
def test_those_of_the_other_levels_as_well(name: str, level: str) -> None:
    constants = compared(name, "torchscript", level)
    assert not [one for one in constants if not one.passed]
    assert {one.name for one in constants} == GRID | OF_LEVEL[name][level]


@pytest.mark.slow
@pytest.mark.parametrize("exporter", ["torchscript", "dynamo"])
@pytest.mark.parametrize("name", NAMES)
def test_at_level_pillars_the_host_has_the_grid(name: str, exporter: str) -> None:
    """The range begins at x = 0, and dynamo leaves out what adds zero."""
    constants = compared(name, exporter, LEVEL)
    assert not [one for one in constants if not one.passed]
    assert {one.name for one in constants} == {"side of a pillar", "lowest y"} | OF_LEVEL[name]["final"]


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"score_thresh": 0.501}, "score threshold"),
        ({"nms_thresh": 0.051}, "NMS threshold"),
        ({"topk_candidates": 29}, "candidates, and detections of a cloud"),
    ],
)
@pytest.mark.parametrize("model", NAMES)
def test_another_threshold_is_found(model: str, changes: dict[str, float], name: str) -> None:
    assert {one.name for one in compared(model, "torchscript", **changes) if not one.passed} >= {name}


def test_another_grid_and_other_anchors_are_found() -> None:
    model = small_pillars("PointPillars")
    model.anchors[-3:, 2] += np.float32(0.01)
    object.__setattr__(model.encoder.grid, "side", 0.641)
    object.__setattr__(model.encoder.grid, "low", (0.0, -5.12, -2.01))
    case = Case("final", fixed=False, shape=(2, 200, 4), outputs=lambda modules: {})
    inputs = {key: tensor.numpy() for key, tensor in padded(random_clouds(2, 200, 1), 200).items()}
    graph = graph_of("PointPillars", "torchscript", "final")
    constants = constants_of_graph(graph, list(family_of(model).constants(model, case)), inputs)
    assert {one.name for one in constants if not one.passed} >= {"anchors", "side of a pillar", "lowest z"}
