"""zooport::rotated_nms_keep against polygon clipping in float64: eagerly, and in ONNX Runtime in every form, by both
exporters.
"""

import functools

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor, nn

from rewriters.ops.rotated_nms_keep import rotated_nms_keep
from tests.examples import examples
from tests.rewriters.ops.exported import FORMS, NOT_FOR_TENSORRT, exported, operators, run, session_of
from tests.rewriters.ops.rotated_candidates import KINDS, decided, greedily_kept, rotated_candidates, shapely_iou
from zoo.geometry.rotated import rotated_iou
from zoo.models.rotated_nms import rotated_nms

# one axis of two inputs has one name, which is what we mean
pytestmark = pytest.mark.filterwarnings("ignore:# The axis name:UserWarning")

THRESHOLD = 0.2
NAMES = ["boxes", "scores", "labels"]


class Keep(nn.Module):
    def forward(self, boxes: Tensor, scores: Tensor, labels: Tensor) -> Tensor:
        return rotated_nms_keep(boxes, scores, labels, THRESHOLD)


@functools.cache
def model_of(form: tuple[str, str]) -> onnx.ModelProto:
    axes = {name: {0: "b", 1: "m"} for name in NAMES}
    return exported(Keep(), rotated_candidates(2, 5, "spread", 0), axes, ["keep"], form)


@pytest.fixture(scope="module", params=FORMS, ids="-".join)
def session(request: pytest.FixtureRequest) -> ort.InferenceSession:
    return session_of(model_of(request.param))


cases = {
    "rows": st.integers(1, 4),
    "count": st.integers(1, 40),
    "kind": st.sampled_from(sorted(KINDS)),
    "seed": st.integers(0, 10_000),
}


@examples(15, 60)
@given(**cases)
def test_eager_keeps_what_the_greedy_method_keeps(rows: int, count: int, kind: str, seed: int) -> None:
    tensors = rotated_candidates(rows, count, kind, seed)
    assume(decided(tensors[0], THRESHOLD))  # IoU(a, b) and IoU(b, a) may round to the two sides of the threshold
    np.testing.assert_array_equal(rotated_nms_keep(*tensors, THRESHOLD), greedily_kept(*tensors, THRESHOLD))


@examples(25, 100)
@given(**cases)
def test_onnxruntime_keeps_what_the_greedy_method_keeps(
    session: ort.InferenceSession, rows: int, count: int, kind: str, seed: int
) -> None:
    tensors = rotated_candidates(rows, count, kind, seed)
    assume(decided(tensors[0], THRESHOLD))
    np.testing.assert_array_equal(run(session, *tensors)[0], greedily_kept(*tensors, THRESHOLD))


@examples(25, 100)
@given(**cases)
def test_what_is_kept_is_what_shapelys_polygons_keep(
    session: ort.InferenceSession, rows: int, count: int, kind: str, seed: int
) -> None:
    tensors = rotated_candidates(rows, count, kind, seed)
    assume(decided(tensors[0], THRESHOLD, shapely_iou))
    expected = greedily_kept(*tensors, THRESHOLD, shapely_iou)
    np.testing.assert_array_equal(rotated_nms_keep(*tensors, THRESHOLD), expected)
    np.testing.assert_array_equal(run(session, *tensors)[0], expected)


@pytest.mark.parametrize("count", [2, 61])
def test_the_longest_chain_alternates(session: ort.InferenceSession, count: int) -> None:
    """Each box overlaps the next alone, in the order of scores: what a fixed number of iterations gets wrong."""
    place = torch.arange(count).float()
    slanted = torch.tensor([[3.0, 1.5, 0.5]]).expand(count, 3)
    boxes = torch.cat([place[:, None] * 1.6 * torch.tensor([[0.8776, 0.4794]]), slanted], dim=1)[None]
    scores, labels = torch.linspace(0.9, 0.1, count)[None], torch.zeros(1, count, dtype=torch.int64)
    assert run(session, boxes, scores, labels)[0][0].tolist() == [slot % 2 == 0 for slot in range(count)]


def test_boxes_whose_upright_hulls_overlap_both_stay(session: ort.InferenceSession) -> None:
    """Needed: two cars side by side, parked at 45 degrees. The boxes around them have an IoU of 0.39."""
    boxes = torch.tensor([[[0, 0, 4, 1.6, torch.pi / 4], [1.4, -1.4, 4, 1.6, torch.pi / 4]]])
    scores, labels = torch.tensor([[0.9, 0.8]]), torch.zeros(1, 2, dtype=torch.int64)
    assert run(session, boxes, scores, labels)[0].all()
    assert rotated_nms_keep(boxes, scores, labels, THRESHOLD).all()


def test_only_boxes_of_one_label_meet(session: ort.InferenceSession) -> None:
    boxes, scores = torch.tensor([1.0, 2, 3, 4, 5]).expand(1, 6, 5), torch.linspace(0.9, 0.1, 6)[None]
    labels = torch.tensor([[0, 1, 0, 1, 7, 7]])
    assert run(session, boxes.contiguous(), scores, labels)[0][0].tolist() == [True, True, False, False, True, False]


def test_only_empty_slots_keep_nothing(session: ort.InferenceSession) -> None:
    tensors = torch.zeros(2, 3, 5), torch.full((2, 3), -1.0), torch.zeros(2, 3, dtype=torch.int64)
    assert not rotated_nms_keep(*tensors, THRESHOLD).any()
    assert not run(session, *tensors)[0].any()


def test_boxes_and_scores_that_are_not_numbers_do_not_disturb_the_others(session: ort.InferenceSession) -> None:
    boxes, scores, labels = rotated_candidates(1, 12, "crowd", 5)
    bad = torch.tensor([torch.nan, torch.inf, 1.0])[None, :, None].expand(1, 3, 5)
    more = (
        torch.cat([boxes, bad], dim=1),
        torch.cat([scores, torch.tensor([[0.99, 0.98, torch.nan]])], dim=1),
        torch.cat([labels, torch.zeros(1, 3, dtype=torch.int64)], dim=1),
    )
    for keep in (run(session, *more)[0], rotated_nms_keep(*more, THRESHOLD).numpy()):
        np.testing.assert_array_equal(keep[:, :12], run(session, boxes, scores, labels)[0])
        assert not keep[0, 14]


def test_the_fake_implementation_agrees() -> None:
    torch.library.opcheck(rotated_nms_keep, (*rotated_candidates(2, 7, "crowd", 3), THRESHOLD))


def test_the_kept_come_best_first() -> None:
    boxes, scores, _ = rotated_candidates(1, 30, "crowd", 8)
    index = rotated_nms(boxes[0], scores[0], THRESHOLD)
    assert (scores[0, index].diff() <= 0).all()
    overlap = rotated_iou(boxes[0, index].numpy(), boxes[0, index].numpy())
    assert (overlap - np.eye(len(index)) <= THRESHOLD + 1e-9).all()
    assert rotated_nms(boxes[0, :0], scores[0, :0], THRESHOLD).tolist() == []


@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_the_graph_has_standard_operators_only_and_for_tensorrt_none_it_cannot_build(form: tuple[str, str]) -> None:
    model = model_of(form)
    used = operators(model.graph)
    assert not [name for name in used if "::" in name]
    assert {opset.domain for opset in model.opset_import} == {""}
    assert not model.functions
    assert not {"TopK", "NonMaxSuppression"} & set(used)
    assert used.count("NonZero") == (form[1] == "onnxruntime")
    assert bool(NOT_FOR_TENSORRT & set(used)) == (form[1] == "onnxruntime")
