"""zooport::multi_level_roi_align against torchvision's MultiScaleRoIAlign, in every form and by both exporters."""

import functools
from collections import OrderedDict

import numpy as np
import onnx
import onnxruntime as ort
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torchvision.ops import MultiScaleRoIAlign, roi_align

from rewriters.ops.multi_level_roi_align import multi_level_roi_align
from tests.examples import examples
from tests.rewriters.ops.exported import FORMS, NOT_FOR_TENSORRT, exported, operators, session_of

# one axis of two inputs has one name, which is what we mean
pytestmark = pytest.mark.filterwarnings("ignore:# The axis name:UserWarning")

SCALES = [0.25, 0.125, 0.0625]
SIZE = [3, 3]
SAMPLING = 2


def features(seed: int, images: int = 2) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.rand(images, 4, 128 // s, 128 // s, generator=generator) for s in (4, 8, 16)]


def rois_and_levels(count: int, seed: int, images: int = 2) -> tuple[Tensor, Tensor]:
    generator = torch.Generator().manual_seed(seed)
    corner = torch.rand(count, 2, generator=generator) * 100
    size = torch.rand(count, 2, generator=generator) * 60
    index = torch.randint(0, images, (count, 1), generator=generator).float()
    return torch.cat([index, corner, corner + size], 1), torch.randint(0, 3, (count,), generator=generator)


class Pool(nn.Module):
    def __init__(self, *, aligned: bool = False) -> None:
        super().__init__()
        self.aligned = aligned

    def forward(self, a: Tensor, b: Tensor, c: Tensor, rois: Tensor, levels: Tensor) -> Tensor:
        return multi_level_roi_align([a, b, c], rois, levels, SCALES, SIZE, SAMPLING, self.aligned)


def pool_model(form: tuple[str, str], *, aligned: bool = False) -> onnx.ModelProto:
    axes: dict[str, dict[int, str]] = {"a": {}, "b": {}, "c": {}, "rois": {0: "r"}, "levels": {0: "r"}}
    return exported(Pool(aligned=aligned), (*features(0), *rois_and_levels(6, 0)), axes, ["pooled"], form)


model_of = functools.cache(pool_model)


@pytest.fixture(scope="module", params=FORMS, ids="-".join)
def session(request: pytest.FixtureRequest) -> ort.InferenceSession:
    return session_of(model_of(request.param))


def pooled(session: ort.InferenceSession, maps: list[Tensor], rois: Tensor, levels: Tensor) -> np.ndarray:
    feed = dict(zip(("a", "b", "c", "rois", "levels"), (*maps, rois, levels), strict=True))
    (result,) = session.run(None, {name: tensor.numpy() for name, tensor in feed.items()})
    array: np.ndarray = result
    return array


@examples(12, 30)
@given(count=st.integers(1, 30), seed=st.integers(0, 10_000))
def test_eager_equals_torchvisions_pooler(count: int, seed: int) -> None:
    pooler = MultiScaleRoIAlign(["0", "1", "2"], SIZE, SAMPLING, canonical_scale=32, canonical_level=3)
    maps = features(seed)
    rois, _ = rois_and_levels(count, seed)
    boxes = [rois[rois[:, 0] == image, 1:] for image in range(2)]
    expected = pooler(OrderedDict(zip("012", maps, strict=True)), boxes, [(128, 128)] * 2)
    ordered = torch.cat([rois[rois[:, 0] == image] for image in range(2)])
    levels = pooler.map_levels(boxes)
    assert torch.equal(multi_level_roi_align(maps, ordered, levels, SCALES, SIZE, SAMPLING), expected)


@examples(12, 30)
@given(count=st.integers(1, 30), seed=st.integers(0, 10_000))
def test_onnxruntime_equals_eager(session: ort.InferenceSession, count: int, seed: int) -> None:
    maps = features(seed)
    rois, levels = rois_and_levels(count, seed)
    expected = multi_level_roi_align(maps, rois, levels, SCALES, SIZE, SAMPLING)
    np.testing.assert_allclose(pooled(session, maps, rois, levels), expected.numpy(), atol=2e-6)


def test_a_level_may_have_no_boxes(session: ort.InferenceSession) -> None:
    maps = features(1)
    rois, _ = rois_and_levels(5, 1)
    levels = torch.full((5,), 2)
    expected = multi_level_roi_align(maps, rois, levels, SCALES, SIZE, SAMPLING)
    np.testing.assert_allclose(pooled(session, maps, rois, levels), expected.numpy(), atol=2e-6)


@examples(12, 30)
@given(seed=st.integers(0, 10_000))
def test_boxes_beyond_the_edges_and_without_an_area(session: ort.InferenceSession, seed: int) -> None:
    maps = features(seed)
    rois, levels = rois_and_levels(12, seed)
    rois[:4, 1:] = rois[:4, 1:] * 2 - 60
    rois[4:8, 3:] = rois[4:8, 1:3]
    rois[8:, 1:] = rois[8:, [3, 4, 1, 2]]
    expected = multi_level_roi_align(maps, rois, levels, SCALES, SIZE, SAMPLING)
    np.testing.assert_allclose(pooled(session, maps, rois, levels), expected.numpy(), atol=2e-6)


@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_aligned(form: tuple[str, str]) -> None:
    """Half a cell aside, and boxes smaller than a cell keep their size: as torchvision's aligned=True."""
    session = session_of(pool_model(form, aligned=True))
    for seed in range(5):
        maps = features(seed)
        rois, levels = rois_and_levels(20, seed)
        rois[:6, 3:] = rois[:6, 1:3] + torch.tensor([[0.0], [0.1], [0.5], [1.0], [2.0], [3.0]])
        expected = torch.zeros(20, 4, *SIZE)
        for level, scale in enumerate(SCALES):
            index = levels == level
            expected[index] = roi_align(maps[level], rois[index], SIZE, scale, SAMPLING, aligned=True)
        assert torch.equal(multi_level_roi_align(maps, rois, levels, SCALES, SIZE, SAMPLING, True), expected)
        np.testing.assert_allclose(pooled(session, maps, rois, levels), expected.numpy(), atol=2e-6)


def test_a_box_that_is_not_a_number_is_zeros_in_tensorrts_form() -> None:
    """And no index beyond the maps, which ONNX Runtime refuses to read."""
    maps, (rois, levels) = features(1), rois_and_levels(3, 1)
    rois[1, 1:] = torch.nan
    levels[1] = torch.iinfo(torch.int64).min  # what the level of such a box becomes
    found = pooled(session_of(model_of(("torchscript", "tensorrt-rtx"))), maps, rois, levels)
    assert not found[1].any()
    assert found[0].all()
    assert found[2].all()


@pytest.mark.parametrize("form", FORMS, ids="-".join)
def test_tensorrts_form_has_no_operator_that_it_cannot_build(form: tuple[str, str]) -> None:
    assert bool(NOT_FOR_TENSORRT & set(operators(model_of(form).graph))) == (form[1] == "onnxruntime")


def test_the_fake_implementation_agrees() -> None:
    rois, levels = rois_and_levels(5, 2)
    torch.library.opcheck(multi_level_roi_align, (features(2), rois, levels, SCALES, SIZE, SAMPLING))
