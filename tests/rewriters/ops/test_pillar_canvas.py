"""zooport::by_cell and zooport::pillar_canvas against plain loops: eagerly, and in ONNX Runtime in every form, by both
exporters.
"""

import functools

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn

from rewriters.graph_passes.expand_operators import expand_operators
from rewriters.onnx_graph.scopes import every_graph
from rewriters.ops.pillar_canvas import by_cell, pillar_canvas
from tests.examples import examples
from tests.rewriters.ops.exported import FORMS, NOT_FOR_TENSORRT, exported, operators, run, session_of
from tests.rewriters.small_models import fixed_target
from zoo.errors import ExportError

# one axis of two inputs has one name, which is what we mean
pytestmark = pytest.mark.filterwarnings("ignore:# The axis name:UserWarning")

CELLS, CHANNELS = 12, 3
NAMES = ["points", "cells"]
OUTPUTS = ["sums", "maxima"]


class Canvas(nn.Module):
    """Both reductions: the sums of the points, and the maxima of what a network makes of each."""

    def forward(self, points: Tensor, cells: Tensor) -> tuple[Tensor, Tensor]:
        rows, sorted_cells = by_cell(points, cells)
        features = rows * 2.0 - 1.0
        sums = pillar_canvas(rows, sorted_cells, CELLS, "add")
        return sums, pillar_canvas(features, sorted_cells, CELLS, "max")


def clouds(batch: int, count: int, kind: str, seed: int) -> tuple[Tensor, Tensor]:
    """points [batch, count, CHANNELS], multiples of 1/8, so that sums are exact in any order; cells [batch, count]."""
    random = np.random.default_rng(seed)
    points = random.integers(-40, 40, (batch, count, CHANNELS)).astype(np.float32) / 8
    cells = random.integers(-2, CELLS + 2, (batch, count))  # some are none of the grid's
    if kind == "one cell":
        cells[:] = 5
    elif kind == "outside":
        cells[:] = CELLS
    elif kind == "not finite":
        outside = (cells < 0) | (cells >= CELLS)
        points[outside] = random.choice([np.nan, np.inf, -np.inf], (int(outside.sum()), 1))
    elif kind == "apart":
        cells[:] = random.permuted(np.broadcast_to(np.arange(count), cells.shape), axis=1)
    return torch.from_numpy(points), torch.from_numpy(cells)


def by_loops(points: Tensor, cells: Tensor) -> tuple[np.ndarray, np.ndarray]:
    sums, maxima = (np.zeros((len(points), CHANNELS, CELLS), np.float32) for _ in range(2))
    for cloud, (rows, places) in enumerate(zip(points.numpy(), cells.numpy(), strict=True)):
        for row, cell in zip(rows, places, strict=True):
            if 0 <= cell < CELLS:
                sums[cloud, :, cell] += row
                maxima[cloud, :, cell] = np.maximum(maxima[cloud, :, cell], row * 2 - 1)
    return sums, maxima


@functools.cache
def model_of(form: tuple[str, str]) -> onnx.ModelProto:
    axes = {name: {0: "b", 1: "n"} for name in NAMES}
    return exported(Canvas(), clouds(2, 5, "random", 0), axes, OUTPUTS, form)


@pytest.fixture(scope="module", params=FORMS, ids="-".join)
def session(request: pytest.FixtureRequest) -> ort.InferenceSession:
    return session_of(model_of(request.param))


cases = {
    "batch": st.integers(1, 4),
    "count": st.integers(0, 60),
    "kind": st.sampled_from(["random", "one cell", "outside", "not finite", "apart"]),
    "seed": st.integers(0, 10_000),
}


@examples(15, 60)
@given(**cases)
def test_eager_gives_what_plain_loops_give(batch: int, count: int, kind: str, seed: int) -> None:
    points, cells = clouds(batch, count, kind, seed)
    for canvas, expected in zip(Canvas()(points, cells), by_loops(points, cells), strict=True):
        np.testing.assert_array_equal(canvas.numpy(), expected)


@examples(25, 100)
@given(**cases)
def test_onnxruntime_gives_what_plain_loops_give(
    session: ort.InferenceSession, batch: int, count: int, kind: str, seed: int
) -> None:
    points, cells = clouds(batch, count, kind, seed)
    for canvas, expected in zip(run(session, points, cells), by_loops(points, cells), strict=True):
        np.testing.assert_array_equal(canvas, expected)


def test_the_order_of_the_points_changes_nothing(session: ort.InferenceSession) -> None:
    points, cells = clouds(3, 50, "random", 4)
    order = torch.randperm(50, generator=torch.Generator().manual_seed(1))
    shuffled = run(session, points[:, order].contiguous(), cells[:, order].contiguous())
    for canvas, expected in zip(shuffled, run(session, points, cells), strict=True):
        np.testing.assert_array_equal(canvas, expected)


def test_many_threads_that_meet_in_one_cell_lose_nothing() -> None:
    """Needed: a ScatterND loses updates now and then, see benchmarks/scatter_threads.py."""
    options = ort.SessionOptions()
    options.intra_op_num_threads = 4
    model = model_of(("torchscript", "onnxruntime")).SerializeToString()
    session = ort.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    points, cells = clouds(1, 20_000, "random", 2)
    expected = [tensor.numpy() for tensor in Canvas()(points, cells)]
    for _ in range(20):
        for canvas, wanted in zip(run(session, points, cells), expected, strict=True):
            np.testing.assert_array_equal(canvas, wanted)


def test_what_a_scatter_of_maxima_loses_is_scattered_again() -> None:
    """The first scatter is planted to lose everything, as threads make it lose a row now and then."""
    model = onnx.ModelProto.FromString(model_of(("torchscript", "onnxruntime")).SerializeToString())
    (first,) = (node for node in model.graph.node if node.op_type == "ScatterND")
    first.CopyFrom(onnx.helper.make_node("Identity", first.input[:1], first.output))
    points, cells = clouds(2, 300, "random", 5)
    for canvas, expected in zip(run(session_of(model), points, cells), by_loops(points, cells), strict=True):
        np.testing.assert_array_equal(canvas, expected)


def test_cells_that_are_not_sorted_are_refused() -> None:
    points, cells = torch.zeros(1, 2, 3), torch.tensor([[1, 0]])
    with pytest.raises(ValueError, match="the cells are not sorted; give it what by_cell gives"):
        pillar_canvas(points, cells, CELLS, "add")


def test_the_fake_implementations_agree() -> None:
    points, cells = clouds(2, 7, "random", 3)
    torch.library.opcheck(by_cell, (points, cells))
    torch.library.opcheck(pillar_canvas, (*by_cell(points, cells), CELLS, "max"))


@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_the_graph_has_standard_operators_only_and_for_tensorrt_none_it_cannot_build(form: tuple[str, str]) -> None:
    model = model_of(form)
    used = operators(model.graph)
    assert not [name for name in used if "::" in name]
    assert not {"TopK", "Unique", "NonZero", "If"} & set(used)
    assert not NOT_FOR_TENSORRT & set(used)
    reduced = [
        (node.op_type, item.s)
        for graph in every_graph(model.graph)
        for node in graph.node
        for item in node.attribute
        if item.name == "reduction"
    ]
    # of the maxima what threads lose is scattered again; a sum that lost something looks like a right one
    assert reduced == ([("ScatterElements", b"add"), *2 * [("ScatterND", b"max")]] if form[1] == "onnxruntime" else [])


def test_what_is_no_number_ends_and_stays_in_its_cell() -> None:
    """Needed: a maximum beside one depends on the order, so that a later number can seem to be lost in each turn."""
    session = session_of(model_of(("torchscript", "onnxruntime")))
    points, cells = clouds(1, 50, "random", 6)
    cells[0, :3] = 5
    points[0, :3] = torch.tensor([4.0, torch.nan, 3.0])[:, None]
    others = np.arange(CELLS) != 5
    for canvas, without in zip(run(session, points, cells), by_loops(points, cells), strict=True):
        np.testing.assert_array_equal(canvas[..., others], without[..., others])


def test_an_opset_without_maxima_is_refused() -> None:
    node = onnx.helper.make_node("PillarCanvas", ["f", "c"], ["y"], domain="zooport")
    graph = onnx.helper.make_graph([node], "canvas", [], [])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])
    with pytest.raises(
        ExportError,
        match="zooport::pillar_canvas needs opset 18 or later, and the target has opset 17; give --opset 18",
    ):
        expand_operators(model, fixed_target(64, 64, backend="onnxruntime", exporter="torchscript", opset=17))
