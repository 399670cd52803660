"""zooport::nms_keep against torchvision.ops.nms, eagerly and in ONNX Runtime from both exporters."""

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torchvision.ops import nms

from rewriters.ops.nms_keep import nms_keep
from rewriters.ops.operator import dynamo_translations, torchscript_translations

# one axis of two inputs has one name, which is what we mean
pytestmark = pytest.mark.filterwarnings("ignore:# The axis name:UserWarning")

THRESHOLD = 0.5


def boxes_and_scores(rows: int, count: int, kind: str, seed: int) -> tuple[Tensor, Tensor]:
    """`kind`: "spread" over the picture, "crowd" in one place, "same" box everywhere, "chain" of overlaps."""
    generator = torch.Generator().manual_seed(seed)
    corner = torch.rand(rows, count, 2, generator=generator) * {"spread": 200.0, "crowd": 12.0}.get(kind, 0.0)
    if kind == "chain":
        corner = corner + torch.arange(count).float()[None, :, None] * torch.tensor([6.0, 0.0])
    size = torch.rand(rows, count, 2, generator=generator) * 30 if kind in ("spread", "crowd") else torch.tensor(30.0)
    scores = torch.rand(rows, count, generator=generator)
    scores = torch.where(torch.rand(rows, count, generator=generator) < 0.2, torch.tensor(-1.0), scores)
    return torch.cat([corner, corner + size], dim=-1), scores


def by_torchvision(boxes: Tensor, scores: Tensor) -> Tensor:
    keep = torch.zeros_like(scores, dtype=torch.bool)
    for row in range(len(boxes)):
        for index in nms(boxes[row], scores[row], THRESHOLD).tolist():
            keep[row, index] = scores[row, index] >= 0
    return keep


class Keep(nn.Module):
    def forward(self, boxes: Tensor, scores: Tensor) -> Tensor:
        return nms_keep(boxes, scores, THRESHOLD)


@pytest.fixture(scope="module", params=["torchscript", "dynamo"])
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ort.InferenceSession:
    path = tmp_path_factory.mktemp("nms") / "keep.onnx"
    example = boxes_and_scores(2, 5, "spread", 0)
    names = {"input_names": ["boxes", "scores"], "output_names": ["keep"], "opset_version": 18}
    if request.param == "torchscript":
        axes = {"boxes": {0: "b", 1: "m"}, "scores": {0: "b", 1: "m"}}
        with torchscript_translations():
            torch.onnx.export(Keep().eval(), example, path, dynamo=False, dynamic_axes=axes, **names)
    else:
        b, m = torch.export.Dim("b"), torch.export.Dim("m")
        program = torch.onnx.export(
            Keep().eval(),
            example,
            dynamo=True,
            dynamic_shapes=({0: b, 1: m}, {0: b, 1: m}),
            custom_translation_table=dynamo_translations(),
            verbose=False,
            **names,
        )
        program.save(path)
    return ort.InferenceSession(path, providers=["CPUExecutionProvider"])


cases = {
    "rows": st.integers(1, 4),
    "count": st.integers(1, 40),
    "kind": st.sampled_from(["spread", "crowd", "same", "chain"]),
    "seed": st.integers(0, 10_000),
}


@settings(max_examples=50, deadline=None)
@given(**cases)
def test_eager_keeps_what_torchvision_keeps(rows: int, count: int, kind: str, seed: int) -> None:
    boxes, scores = boxes_and_scores(rows, count, kind, seed)
    assert torch.equal(nms_keep(boxes, scores, THRESHOLD), by_torchvision(boxes, scores))


@settings(max_examples=50, deadline=None)
@given(**cases)
def test_onnxruntime_keeps_what_torchvision_keeps(
    session: ort.InferenceSession, rows: int, count: int, kind: str, seed: int
) -> None:
    boxes, scores = boxes_and_scores(rows, count, kind, seed)
    (keep,) = session.run(None, {"boxes": boxes.numpy(), "scores": scores.numpy()})
    np.testing.assert_array_equal(keep, by_torchvision(boxes, scores).numpy())


def test_only_empty_slots_keep_nothing(session: ort.InferenceSession) -> None:
    boxes, scores = torch.zeros(2, 3, 4), torch.full((2, 3), -1.0)
    assert not nms_keep(boxes, scores, THRESHOLD).any()
    (keep,) = session.run(None, {"boxes": boxes.numpy(), "scores": scores.numpy()})
    assert not keep.any()


def test_the_fake_implementation_agrees() -> None:
    boxes, scores = boxes_and_scores(2, 7, "crowd", 3)
    torch.library.opcheck(nms_keep, (boxes, scores, THRESHOLD))


def test_the_file_uses_standard_operators_only(session: ort.InferenceSession) -> None:
    model = onnx.load(session._model_path)
    assert {node.domain for node in model.graph.node} == {""}
    assert not model.functions
    assert sum(node.op_type == "NonMaxSuppression" for node in model.graph.node) == 1
