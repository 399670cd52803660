"""zooport::class_nms_keep against torchvision.ops: eagerly, and in ONNX Runtime in every form, by both exporters."""

import numpy as np
import onnxruntime as ort
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torchvision.ops import batched_nms, nms

from rewriters.ops.class_nms_keep import class_nms_keep
from tests.examples import examples
from tests.rewriters.ops.candidates import CLASSES, KINDS, candidates
from tests.rewriters.ops.exported import FORMS, exported, session_of

# one axis of two inputs has one name, which is what we mean
pytestmark = pytest.mark.filterwarnings("ignore:# The axis name:UserWarning")

THRESHOLD = 0.5
NAMES = ["boxes", "scores", "labels"]


def by_torchvision(boxes: Tensor, scores: Tensor, labels: Tensor) -> Tensor:
    """torchvision's nms, class by class: what batched_nms is for, without a coordinate moved."""
    keep = torch.zeros_like(scores, dtype=torch.bool)
    for row in range(len(boxes)):
        for label in range(CLASSES):
            index = ((labels[row] == label) & (scores[row] >= 0)).nonzero()[:, 0]
            keep[row, index[nms(boxes[row, index], scores[row, index], THRESHOLD)]] = True
    return keep


class Keep(nn.Module):
    def forward(self, boxes: Tensor, scores: Tensor, labels: Tensor) -> Tensor:
        return class_nms_keep(boxes, scores, labels, CLASSES, THRESHOLD)


@pytest.fixture(scope="module", params=FORMS, ids="-".join)
def session(request: pytest.FixtureRequest) -> ort.InferenceSession:
    axes = {name: {0: "b", 1: "m"} for name in NAMES}
    return session_of(exported(Keep(), candidates(2, 5, "spread", 0), axes, ["keep"], request.param))


cases = {
    "rows": st.integers(1, 4),
    "count": st.integers(1, 40),
    "kind": st.sampled_from(sorted(KINDS)),
    "seed": st.integers(0, 10_000),
}


@examples(15, 60)
@given(**cases)
def test_eager_keeps_what_torchvision_keeps(rows: int, count: int, kind: str, seed: int) -> None:
    given_ = candidates(rows, count, kind, seed)
    assert torch.equal(class_nms_keep(*given_, CLASSES, THRESHOLD), by_torchvision(*given_))


@examples(15, 60)
@given(**cases)
def test_onnxruntime_keeps_what_torchvision_keeps(
    session: ort.InferenceSession, rows: int, count: int, kind: str, seed: int
) -> None:
    given_ = candidates(rows, count, kind, seed)
    (keep,) = session.run(None, {name: tensor.numpy() for name, tensor in zip(NAMES, given_, strict=True)})
    np.testing.assert_array_equal(keep, by_torchvision(*given_).numpy())


@examples(12, 30)
@given(count=st.integers(1, 60), seed=st.integers(0, 10_000))
def test_batched_nms_with_its_offsets_keeps_the_same(count: int, seed: int) -> None:
    """Where no overlap lies within the rounding of the offsets: coordinates here are multiples of 1/4 pixel, exact."""
    boxes, scores, labels = candidates(1, count, "crowd", seed)
    boxes, filled = (boxes * 4).round() / 4, scores[0] >= 0
    expected = filled.nonzero()[:, 0][batched_nms(boxes[0, filled], scores[0, filled], labels[0, filled], THRESHOLD)]
    keep = class_nms_keep(boxes, scores, labels, CLASSES, THRESHOLD)
    assert keep[0].nonzero()[:, 0].tolist() == sorted(expected.tolist())


def test_only_empty_slots_keep_nothing(session: ort.InferenceSession) -> None:
    boxes, scores, labels = torch.zeros(2, 3, 4), torch.full((2, 3), -1.0), torch.zeros(2, 3, dtype=torch.int64)
    assert not class_nms_keep(boxes, scores, labels, CLASSES, THRESHOLD).any()
    (keep,) = session.run(None, {"boxes": boxes.numpy(), "scores": scores.numpy(), "labels": labels.numpy()})
    assert not keep.any()


def test_one_box_of_every_class_stays_where_all_boxes_are_one() -> None:
    boxes, scores = torch.tensor([0.0, 0.0, 9.0, 9.0]).expand(1, 10, 4), torch.linspace(0.9, 0.1, 10)[None]
    keep = class_nms_keep(boxes, scores, torch.arange(10)[None] % CLASSES, CLASSES, THRESHOLD)
    assert keep[0].tolist() == [True] * CLASSES + [False] * CLASSES


def test_the_fake_implementation_agrees() -> None:
    torch.library.opcheck(class_nms_keep, (*candidates(2, 7, "crowd", 3), CLASSES, THRESHOLD))
