"""The overlap of rotated boxes in ONNX operators against polygon clipping in float64, and known overlaps."""

import functools

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rewriters.ops.graph_builder import FLOAT, GraphBuilder
from rewriters.ops.rotated_overlap import frames, intersection_and_union
from tests.examples import examples
from tests.rewriters.ops.rotated_candidates import KINDS, rotated_candidates
from zoo.geometry.rotated import rotated_iou

ATOL = 1e-5  # boxes with sides of 0.1 m or more, to 80 m; 7e-7 in 4000 sets of 30


@functools.cache
def session() -> ort.InferenceSession:
    """boxes [n, 5] -> IoU [n, n] of all pairs."""
    b = GraphBuilder("overlap")
    boxes = frames(b, "boxes")
    intersection, union = intersection_and_union(
        b, b.Unsqueeze(boxes, b.constant([1])), b.Unsqueeze(boxes, b.constant([0]))
    )
    outputs = [onnx.helper.make_tensor_value_info(name, FLOAT, ["n", "n"]) for name in (intersection, union)]
    inputs = [onnx.helper.make_tensor_value_info("boxes", FLOAT, ["n", 5])]
    graph = onnx.helper.make_graph(b.nodes, "overlap", inputs, outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    return ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])


def overlaps(boxes: np.ndarray) -> np.ndarray:
    intersection, union = session().run(None, {"boxes": boxes})
    return np.divide(intersection, union, out=np.zeros_like(union), where=union > 0)


@examples(25, 100)
@example(count=24, kind="crowd", seed=119)  # an edge that is almost level, near the other box
@given(count=st.integers(1, 30), kind=st.sampled_from(sorted(KINDS)), seed=st.integers(0, 10_000))
def test_the_overlap_is_that_of_polygon_clipping(count: int, kind: str, seed: int) -> None:
    boxes = rotated_candidates(1, count, kind, seed)[0][0].numpy()
    np.testing.assert_allclose(overlaps(boxes), rotated_iou(boxes, boxes), atol=ATOL)


@pytest.mark.parametrize(
    ("second", "expected"),
    [
        ((0, 0, 4, 2, 0), 1),
        ((0, 0, 4, 2, np.pi), 1),
        ((0, 0, 2, 4, np.pi / 2), 1),
        ((2, 0, 4, 2, 0), 4 / 12),  # half of each
        ((4, 0, 4, 2, 0), 0),  # a side in common
        ((0, 0, 2, 1, 0), 2 / 8),  # one in the other
        ((0, 0, np.sqrt(2), np.sqrt(2), np.pi / 4), 2 / 8),  # a diamond that touches both long sides
        ((0, 0, 2, 4, 0), 4 / 12),  # a cross
    ],
)
def test_overlaps_known_by_heart(second: tuple[float, ...], expected: float) -> None:
    boxes = np.array([(0, 0, 4, 2, 0), second], np.float32)
    np.testing.assert_allclose(overlaps(boxes), [[1, expected], [expected, 1]], atol=2e-6)


@pytest.mark.parametrize("sides", [(0, 2), (-3, 2), (0, 0)])
def test_a_box_without_an_area_overlaps_nothing(sides: tuple[float, float]) -> None:
    boxes = np.array([(0, 0, 4, 2, 0.3), (0, 0, *sides, 0.3)], np.float32)
    np.testing.assert_allclose(overlaps(boxes), [[1, 0], [0, 0]], atol=2e-6)


def test_an_edge_that_is_nearly_upright_divides_by_nothing() -> None:
    """Angles a rounding apart: an edge covers 1e-7 m of x or less, and its slope has no bound."""
    angle = np.float32(0.7)
    angles = [angle, np.nextafter(angle, np.float32(1)), angle + np.float32(np.pi), angle - np.float32(np.pi / 2)]
    boxes = np.array([(3, 4, 5, 5, turned) for turned in angles], np.float32)
    np.testing.assert_allclose(overlaps(boxes), np.ones((4, 4)), atol=1e-5)


def test_a_thin_box_is_off_by_its_rounding_alone() -> None:
    """1 mm wide: the rounding of a coordinate is a larger part of the area."""
    boxes = rotated_candidates(1, 30, "crowd", 3)[0][0].numpy().copy()
    boxes[:, 3] = 1e-3
    np.testing.assert_allclose(overlaps(boxes), rotated_iou(boxes, boxes), atol=1e-2)
