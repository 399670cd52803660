"""PointPillars and CenterPoint, points in and boxes out in one graph, against the unpatched models."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from torch import Tensor

import rewriters.pillars  # noqa: F401  # registers what a test takes away
from backends.registry import get_backend
from rewriters.onnx_graph.module_paths import module_path
from tests.examples import slow_but
from tests.rewriters.ops.exported import NOT_FOR_TENSORRT, operators
from tests.rewriters.small_models import without_rewriter
from tests.rewriters.small_pillars import (
    NAMES,
    SLOTS,
    export_pillars,
    in_pillars,
    padded,
    pillars_contract,
    random_clouds,
    run_pillars,
    small_pillars,
)
from tests.rewriters.tensorrt.rtx_engine import needs_rtx, rtx_engine
from zoo.errors import ExportError
from zoo.pillars import LEVEL

BOXES, SCORES = 1e-4, 1e-5  # issue: metres and radians; probabilities
EMPTY = torch.zeros(0, 4)
OTHERS = ("decoded", "raw")  # levels at which the host decides
ON_EVERY_COMMIT = (("PointPillars", "torchscript", "onnxruntime"), ("CenterPoint", "torchscript", "tensorrt-rtx"))
FORMS = [
    pytest.param(form, marks=() if form in ON_EVERY_COMMIT else pytest.mark.slow)
    for name in NAMES
    for exporter in ("torchscript", "dynamo")
    for backend in ("onnxruntime", "tensorrt-rtx")
    for form in [(name, exporter, backend)]
]


@pytest.fixture(scope="module", params=FORMS, ids="-".join)
def exported(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str, Path]:
    name, exporter, backend = request.param
    path = tmp_path_factory.mktemp(name) / "model.onnx"
    export_pillars(path, small_pillars(name), exporter, backend)
    return name, backend, path


@pytest.fixture(scope="module")
def session(exported: tuple[str, str, Path]) -> ort.InferenceSession:
    return ort.InferenceSession(exported[2], providers=["CPUExecutionProvider"])


def same(outputs: list[np.ndarray], expected: Any) -> None:
    """num_dets, boxes, scores, labels of both."""
    num_dets, boxes, scores, labels = (np.asarray(value) for value in expected)
    np.testing.assert_array_equal(outputs[0], num_dets)
    np.testing.assert_array_equal(outputs[3], labels)
    np.testing.assert_allclose(outputs[1], boxes, atol=BOXES)
    np.testing.assert_allclose(outputs[2], scores, atol=SCORES)


def unpatched(name: str, clouds: list[Tensor]) -> tuple[Tensor, ...]:
    """Each cloud by itself."""
    contract = pillars_contract(small_pillars(name))
    with torch.no_grad():
        outputs = [contract(*padded([cloud], max(len(cloud), 1)).values()) for cloud in clouds]
    return tuple(torch.cat(values) for values in zip(*outputs, strict=True))


CASES: dict[str, Callable[[], tuple[list[Tensor], dict[str, Tensor]]]] = {
    "traced": lambda: (clouds := random_clouds(2, 200, 1), padded(clouds, 200)),
    "one cloud": lambda: (clouds := random_clouds(1, 333, 2), padded(clouds, 333)),
    "four of different sizes": lambda: (
        clouds := [cloud[:size] for cloud, size in zip(random_clouds(4, 500, 3), (500, 1, 250, 77), strict=True)],
        padded(clouds, 600),
    ),
    "padding that is not finite": lambda: (clouds := random_clouds(2, 100, 4), padded(clouds, 150, torch.nan)),
    "an empty cloud beside a full one": lambda: (clouds := [EMPTY, *random_clouds(1, 300, 5)], padded(clouds, 300)),
    "an empty tensor": lambda: (clouds := [EMPTY, EMPTY], padded(clouds, 0)),
    "all outside": lambda: (clouds := [cloud + 100 for cloud in random_clouds(2, 50, 6)], padded(clouds, 50)),
}


@pytest.mark.parametrize("case", CASES)
def test_the_graph_finds_what_the_unpatched_model_finds(
    exported: tuple[str, str, Path], session: ort.InferenceSession, case: str
) -> None:
    clouds, inputs = CASES[case]()
    expected = unpatched(exported[0], clouds)
    if case not in ("an empty tensor", "all outside"):
        assert 1 <= int(expected[0].max()) <= SLOTS
    same(run_pillars(session, inputs), expected)


def test_the_order_of_the_points_and_points_that_are_not_finite_change_nothing(
    exported: tuple[str, str, Path], session: ort.InferenceSession
) -> None:
    clouds = random_clouds(2, 300, 7)
    order = torch.randperm(310, generator=torch.Generator().manual_seed(3))
    bad = torch.tensor(
        [[torch.nan] * 4, [1, 1, 0, torch.inf], [torch.inf, 0, 0, 0], [2, 2, torch.nan, 0]] + [[-torch.inf] * 4] * 6
    )
    mixed = [torch.cat((cloud, bad))[order] for cloud in clouds]
    same(run_pillars(session, padded(mixed, 310)), unpatched(exported[0], clouds))
    same(run_pillars(session, padded(mixed, 310)), unpatched(exported[0], mixed))


def test_the_graph_has_no_shape_that_depends_on_the_points(exported: tuple[str, str, Path]) -> None:
    _, backend, path = exported
    model = onnx.load(path)
    used = set(operators(model.graph))
    assert not [name for name in used if "::" in name]
    assert {opset.domain for opset in model.opset_import} == {""}
    assert not {"Unique", "If", "NonMaxSuppression", "Compress"} & used
    if backend == "tensorrt-rtx":
        assert not NOT_FOR_TENSORRT & used
        scatters = [node for node in model.graph.node if node.op_type.startswith("Scatter")]
        assert not [node for node in scatters if any(item.name == "reduction" for item in node.attribute)]


HEIGHTS = {
    # the map has 8 rows of places; the candidates are one row
    "PointPillars": {"head.classes": 8, "head.boxes": 1, "head.directions": 1},
    # 4 rows of cells; the windows of the candidates are 5 and 3 rows
    "CenterPoint": {"head.shared.0": 8, "head.branches.0.0.0": 8, "head.branches.0.1": 8}
    | {f"head.branches.{branch}.{layer}": rows for branch in range(1, 5) for layer, rows in (("0.0", 5), ("1", 3))},
}


@pytest.mark.parametrize("name", NAMES)
def test_what_only_candidates_need_is_computed_for_them_alone(name: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    export_pillars(path, small_pillars(name), "torchscript", "onnxruntime")
    model = onnx.load(path)
    modules = {
        node.output[0]: module
        for node in model.graph.node
        if node.op_type == "Conv" and (module := module_path(node)) is not None and module.startswith("head.")
    }
    model.graph.output.extend(onnx.ValueInfoProto(name=output) for output in modules)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    inputs = {name: tensor.numpy() for name, tensor in padded(random_clouds(2, 200, 1), 200).items()}
    maps = session.run(list(modules), inputs)
    heights = {module: map_.shape[2] for module, map_ in zip(modules.values(), maps, strict=True)}
    assert heights == HEIGHTS[name]


@needs_rtx
@pytest.mark.tensorrt
@pytest.mark.slow
@pytest.mark.parametrize("level", ["final", LEVEL, *OTHERS])
@pytest.mark.parametrize("name", NAMES)
def test_an_engine_is_built_at_every_level(name: str, level: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    export_pillars(path, small_pillars(name), "torchscript", "tensorrt-rtx", level)
    rtx_engine(path, 1, 2, 4)


@pytest.mark.parametrize(
    ("name", "level", "exporter", "backend"),
    slow_but(
        [
            (name, level, exporter, backend)
            for name in NAMES
            for level in OTHERS
            for exporter in ("torchscript", "dynamo")
            for backend in ("onnxruntime", "tensorrt-rtx", "openvino")
        ],
        ("PointPillars", "raw", "torchscript", "onnxruntime"),
    ),
)
def test_the_other_levels(name: str, level: str, exporter: str, backend: str, tmp_path: Path) -> None:
    """In OpenVINO by itself; the form for TensorRT in ONNX Runtime."""
    if backend == "openvino":
        pytest.importorskip("openvino", reason="openvino is not installed: pip install openvino")
    path = tmp_path / "model.onnx"
    export_pillars(path, small_pillars(name), exporter, backend, level)
    clouds = random_clouds(3, 250, 8)
    inputs = padded([clouds[0], clouds[1][:40], EMPTY], 300)
    with torch.no_grad():
        expected = pillars_contract(small_pillars(name), level)(*inputs.values())
    with get_backend("openvino" if backend == "openvino" else "onnxruntime").open_graph(path) as runner:
        outputs = runner.run({key: tensor.numpy() for key, tensor in inputs.items()})
    assert len(outputs) == len(expected)
    for output, wanted in zip(outputs.values(), expected, strict=True):
        np.testing.assert_allclose(output, wanted.numpy(), atol=1e-4)


@pytest.mark.parametrize("exporter", ["torchscript", pytest.param("dynamo", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", slow_but(NAMES, "PointPillars"))
def test_level_pillars_finds_what_the_unpatched_model_finds(name: str, exporter: str, tmp_path: Path) -> None:
    """The pillars are made by the host; no pillar of these clouds is fuller than its slots."""
    path, model = tmp_path / "model.onnx", small_pillars(name)
    export_pillars(path, model, exporter, "onnxruntime", LEVEL)
    graph = onnx.load(path).graph
    assert [value.name for value in graph.input] == ["voxels", "counts", "cells"]
    assert not {"Unique", "If", "NonMaxSuppression", "Compress"} & set(operators(graph))
    scatters = [node for node in graph.node if node.op_type.startswith("Scatter")]
    assert not [node for node in scatters if any(item.name == "reduction" for item in node.attribute)]
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    for case in ("one cloud", "four of different sizes", "an empty cloud beside a full one", "all outside"):
        clouds, inputs = CASES[case]()
        same(run_pillars(session, in_pillars(model, inputs)), unpatched(name, clouds))


def test_level_pillars_knows_its_pillars_by_their_counts() -> None:
    """Whatever the cells of rows that are filled up hold, and in whatever order the pillars are."""
    model = small_pillars("CenterPoint")
    contract = pillars_contract(model, LEVEL)
    _, inputs = CASES["four of different sizes"]()
    made = in_pillars(model, inputs)
    order = torch.randperm(made["cells"].shape[1], generator=torch.Generator().manual_seed(1))
    other = {name: tensor[:, order] for name, tensor in made.items()}
    other["cells"] = torch.where(other["counts"] > 0, other["cells"], -1)
    with torch.no_grad():
        for ours, theirs in zip(contract(**made), contract(**other), strict=True):
            torch.testing.assert_close(ours, theirs)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_openvino_finds_what_the_unpatched_model_finds(name: str, tmp_path: Path) -> None:
    pytest.importorskip("openvino", reason="openvino is not installed: pip install openvino")
    path = tmp_path / "model.onnx"
    export_pillars(path, small_pillars(name), "torchscript", "openvino")
    with get_backend("openvino").open_graph(path) as runner:
        for case in ("one cloud", "four of different sizes", "an empty cloud beside a full one"):
            clouds, inputs = CASES[case]()
            outputs = runner.run({key: tensor.numpy() for key, tensor in inputs.items()})
            same(list(outputs.values()), unpatched(name, clouds))


def test_opset_17_is_refused_and_not_for_tensorrt(tmp_path: Path) -> None:
    model, path = small_pillars("PointPillars"), tmp_path / "model.onnx"
    with pytest.raises(
        ExportError, match="zooport::pillar_canvas needs opset 18 or later, and the target has opset 17"
    ):
        export_pillars(path, model, "torchscript", "onnxruntime", opset=17)
    assert not path.exists()
    export_pillars(path, model, "torchscript", "tensorrt-rtx", opset=17)
    clouds, inputs = CASES["four of different sizes"]()
    session = ort.InferenceSession(path, providers=["CPUExecutionProvider"])
    same(run_pillars(session, inputs), unpatched("PointPillars", clouds))


@pytest.mark.slow
def test_without_the_rewriters_onnxruntime_refuses_torchscripts_graph(tmp_path: Path) -> None:
    """Needed."""
    without = without_rewriter("zoo.PillarEncoder.forward"), without_rewriter("zoo.models.pillars.levels.clouds_of")
    with without[0], without[1], pytest.raises(ExportError, match="ONNX Runtime .* refuses the exported graph"):
        export_pillars(tmp_path / "model.onnx", small_pillars("PointPillars"), "torchscript", "onnxruntime")
