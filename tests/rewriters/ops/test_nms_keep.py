"""zooport::nms_keep against torchvision.ops.nms: eagerly, and in ONNX Runtime in every form and by both exporters."""

import functools

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torchvision.ops import nms

from rewriters.ops.nms_keep import float32_threshold, nms_keep
from tests.examples import examples
from tests.rewriters.ops.candidates import KINDS, candidates
from tests.rewriters.ops.exported import FORMS, NOT_FOR_TENSORRT, exported, operators, session_of

# one axis of two inputs has one name, which is what we mean
pytestmark = pytest.mark.filterwarnings("ignore:# The axis name:UserWarning")

THRESHOLD = 0.3  # which no float32 is
AXES = {name: {0: "b", 1: "m"} for name in ("boxes", "scores")}


def by_torchvision(boxes: Tensor, scores: Tensor) -> Tensor:
    keep = torch.zeros_like(scores, dtype=torch.bool)
    for row in range(len(boxes)):
        filled = (scores[row] >= 0).nonzero()[:, 0]
        keep[row, filled[nms(boxes[row, filled], scores[row, filled], THRESHOLD)]] = True
    return keep


class Keep(nn.Module):
    def forward(self, boxes: Tensor, scores: Tensor) -> Tensor:
        return nms_keep(boxes, scores, THRESHOLD)


@functools.cache
def model_of(form: tuple[str, str]) -> onnx.ModelProto:
    return exported(Keep(), candidates(2, 5, "spread", 0)[:2], AXES, ["keep"], form)


@pytest.fixture(scope="module", params=FORMS, ids="-".join)
def session(request: pytest.FixtureRequest) -> ort.InferenceSession:
    return session_of(model_of(request.param))


def kept(session: ort.InferenceSession, boxes: Tensor, scores: Tensor) -> np.ndarray:
    (keep,) = session.run(None, {"boxes": boxes.numpy(), "scores": scores.numpy()})
    mask: np.ndarray = keep
    return mask


cases = {
    "rows": st.integers(1, 4),
    "count": st.integers(1, 40),
    "kind": st.sampled_from(sorted(KINDS)),
    "seed": st.integers(0, 10_000),
}


@examples(25, 100)
@given(**cases)
def test_eager_keeps_what_torchvision_keeps(rows: int, count: int, kind: str, seed: int) -> None:
    boxes, scores, _ = candidates(rows, count, kind, seed)
    assert torch.equal(nms_keep(boxes, scores, THRESHOLD), by_torchvision(boxes, scores))


@examples(25, 100)
@given(**cases)
def test_onnxruntime_keeps_what_torchvision_keeps(
    session: ort.InferenceSession, rows: int, count: int, kind: str, seed: int
) -> None:
    boxes, scores, _ = candidates(rows, count, kind, seed)
    np.testing.assert_array_equal(kept(session, boxes, scores), by_torchvision(boxes, scores).numpy())


def test_an_overlap_of_just_the_threshold(session: ort.InferenceSession) -> None:
    """3 / 10 in float32 is above 0.3, as torchvision compares them."""
    boxes = torch.tensor([[[0.0, 0.0, 10.0, 1.0], [0.0, 0.0, 3.0, 1.0]]])
    scores = torch.tensor([[0.9, 0.8]])
    assert by_torchvision(boxes, scores).tolist() == [[True, False]]
    assert kept(session, boxes, scores).tolist() == [[True, False]]


@pytest.mark.parametrize("count", [2, 61])
def test_the_longest_chain_alternates(session: ort.InferenceSession, count: int) -> None:
    """Each box overlaps the next alone, in the order of scores: what a fixed number of turns gets wrong."""
    left = torch.arange(count).float() * 16
    boxes = torch.stack([left, torch.zeros(count), left + 30, torch.full((count,), 30.0)], dim=1)[None]
    scores = torch.linspace(0.9, 0.1, count)[None]
    expected = [slot % 2 == 0 for slot in range(count)]
    assert by_torchvision(boxes, scores)[0].tolist() == expected
    assert kept(session, boxes, scores)[0].tolist() == expected


def test_only_empty_slots_keep_nothing(session: ort.InferenceSession) -> None:
    boxes, scores = torch.zeros(2, 3, 4), torch.full((2, 3), -1.0)
    assert not nms_keep(boxes, scores, THRESHOLD).any()
    assert not kept(session, boxes, scores).any()


def test_boxes_and_scores_that_are_not_numbers_do_not_disturb_the_others(session: ort.InferenceSession) -> None:
    boxes, scores, _ = candidates(1, 12, "crowd", 5)
    nan = torch.full((1, 1), torch.nan)
    more = kept(session, torch.cat([boxes, nan[..., None].expand(1, 1, 4)], dim=1), torch.cat([scores, nan], dim=1))
    np.testing.assert_array_equal(more[:, :12], kept(session, boxes, scores))
    assert not more[0, 12]


def test_the_fake_implementation_agrees() -> None:
    torch.library.opcheck(nms_keep, (*candidates(2, 7, "crowd", 3)[:2], THRESHOLD))


@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_the_graph_has_standard_operators_only_and_for_tensorrt_none_it_cannot_build(form: tuple[str, str]) -> None:
    model = model_of(form)
    used = operators(model.graph)
    assert not [name for name in used if "::" in name]
    assert {opset.domain for opset in model.opset_import} == {""}
    assert not model.functions
    assert used.count("NonMaxSuppression") == (form[1] == "onnxruntime")
    assert bool(NOT_FOR_TENSORRT & set(used)) == (form[1] == "onnxruntime")


def test_both_exporters_write_the_same_operators() -> None:
    def written(exporter: str) -> list[str]:
        return [name for name in operators(model_of((exporter, "tensorrt-rtx")).graph) if name != "Identity"]

    assert written("torchscript") == written("dynamo")


@given(threshold=st.floats(0, 1), near=st.integers(-2, 2))
def test_the_threshold_in_float32_decides_as_in_double_precision(threshold: float, near: int) -> None:
    overlap = np.float32(threshold)
    for _ in range(abs(near)):
        overlap = np.nextafter(overlap, np.float32(np.sign(near) * np.inf))
    assert bool(overlap > float32_threshold(threshold)) == (float(overlap) > threshold)
