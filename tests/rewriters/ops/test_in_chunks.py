"""in_chunks: the rows come back in order whatever the chunk, and no chunk is larger than it may be."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewriters.ops import in_chunks as module
from rewriters.ops.graph_builder import FLOAT, INT64, GraphBuilder
from rewriters.ops.in_chunks import in_chunks
from rewriters.ops.multi_level_roi_align import multi_level_roi_align
from rewriters.ops.nms_keep import nms_keep
from tests.examples import examples
from tests.rewriters.ops import test_multi_level_roi_align as roi_align
from tests.rewriters.ops import test_nms_keep as nms
from tests.rewriters.ops.candidates import candidates
from tests.rewriters.ops.exported import exported, session_of

ELEMENTS = 60
TENSORRT = ("torchscript", "tensorrt-rtx")
pytestmark = pytest.mark.filterwarnings("ignore:# The axis name:UserWarning")


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ELEMENTS", ELEMENTS)


def length_of_chunk_and_row(inner: GraphBuilder, rows: str, numbers: str) -> str:
    """[r, 2]: how many rows the chunk has, and the sum of what the row was given."""
    length = inner.Cast(inner.Shape(rows, end=1), to=FLOAT)
    total = inner.Add(rows, inner.Cast(numbers, to=FLOAT))
    joined: str = inner.Concat(inner.Mul(length, inner.Div(total, total)), total, axis=1)
    return joined


@examples(15, 60)
@given(count=st.integers(1, 100), per_row=st.integers(1, 100))
def test_rows_come_back_in_order_and_chunks_are_bounded(count: int, per_row: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "ELEMENTS", ELEMENTS)
        b = GraphBuilder("result")
        result = in_chunks(b, ["x", "n"], b.constant(per_row), FLOAT, length_of_chunk_and_row)
    shape: list[str | int] = ["r", 1]
    inputs = [onnx.helper.make_tensor_value_info(name, kind, shape) for name, kind in (("x", FLOAT), ("n", INT64))]
    outputs = [onnx.helper.make_tensor_value_info(result, FLOAT, ["r", 2])]
    graph = onnx.helper.make_graph(b.nodes, "chunks", inputs, outputs)
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(model, full_check=True)
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    x = np.arange(1, count + 1, dtype=np.float32)[:, None]
    (found,) = session.run(None, {"x": x, "n": x.astype(np.int64)})
    np.testing.assert_array_equal(found[:, 1], 2 * x[:, 0])
    assert found[:, 0].max() <= max(ELEMENTS // per_row, 1)
    assert found[:, 0].min() >= min(max(ELEMENTS // per_row, 1), count) // 2  # of nearly equal length


@pytest.mark.usefixtures("small_chunks")
def test_suppression_in_chunks_is_the_same() -> None:
    """60 elements: one row of 5 boxes and more at a time, or two."""
    session = session_of(exported(nms.Keep(), candidates(2, 5, "spread", 0)[:2], nms.AXES, ["keep"], TENSORRT))
    for rows, count in ((1, 5), (5, 5), (7, 4), (3, 20)):
        boxes, scores, _ = candidates(rows, count, "crowd", rows)
        np.testing.assert_array_equal(nms.kept(session, boxes, scores), nms_keep(boxes, scores, nms.THRESHOLD).numpy())


@pytest.mark.usefixtures("small_chunks")
def test_pooling_in_chunks_is_the_same() -> None:
    """A box at a time: 4 * 2 * 2 * 3 * 3 * 4 elements are more than 60."""
    session = session_of(roi_align.pool_model(TENSORRT))
    for count in (1, 2, 9):
        maps, (rois, levels) = roi_align.features(count), roi_align.rois_and_levels(count, count)
        expected = multi_level_roi_align(maps, rois, levels, roi_align.SCALES, roi_align.SIZE, roi_align.SAMPLING)
        np.testing.assert_allclose(roi_align.pooled(session, maps, rois, levels), expected.numpy(), atol=2e-6)
