"""zooport::multi_level_roi_align against torchvision's MultiScaleRoIAlign."""

from collections import OrderedDict

import numpy as np
import onnxruntime as ort
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn
from torchvision.ops import MultiScaleRoIAlign

from rewriters.ops.multi_level_roi_align import multi_level_roi_align
from rewriters.ops.operator import dynamo_translations, torchscript_translations

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
    def forward(self, a: Tensor, b: Tensor, c: Tensor, rois: Tensor, levels: Tensor) -> Tensor:
        return multi_level_roi_align([a, b, c], rois, levels, SCALES, SIZE, SAMPLING)


@pytest.fixture(scope="module", params=["torchscript", "dynamo"])
def session(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> ort.InferenceSession:
    path = tmp_path_factory.mktemp("pool") / "pool.onnx"
    example = (*features(0), *rois_and_levels(6, 0))
    names = {
        "input_names": ["a", "b", "c", "rois", "levels"],
        "output_names": ["pooled"],
        "opset_version": 18,
    }
    if request.param == "torchscript":
        axes = {"rois": {0: "r"}, "levels": {0: "r"}}
        with torchscript_translations():
            torch.onnx.export(Pool().eval(), example, path, dynamo=False, dynamic_axes=axes, **names)
    else:
        r = torch.export.Dim("r")
        program = torch.onnx.export(
            Pool().eval(),
            example,
            dynamo=True,
            dynamic_shapes=({}, {}, {}, {0: r}, {0: r}),
            custom_translation_table=dynamo_translations(),
            verbose=False,
            **names,
        )
        program.save(path)
    return ort.InferenceSession(path, providers=["CPUExecutionProvider"])


@settings(max_examples=30, deadline=None)
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


@settings(max_examples=30, deadline=None)
@given(count=st.integers(1, 30), seed=st.integers(0, 10_000))
def test_onnxruntime_equals_eager(session: ort.InferenceSession, count: int, seed: int) -> None:
    maps = features(seed)
    rois, levels = rois_and_levels(count, seed)
    feed = dict(zip(("a", "b", "c", "rois", "levels"), (*maps, rois, levels), strict=True))
    (pooled,) = session.run(None, {name: tensor.numpy() for name, tensor in feed.items()})
    expected = multi_level_roi_align(maps, rois, levels, SCALES, SIZE, SAMPLING)
    np.testing.assert_allclose(pooled, expected.numpy(), atol=2e-6)


def test_a_level_may_have_no_boxes(session: ort.InferenceSession) -> None:
    maps = features(1)
    rois, _ = rois_and_levels(5, 1)
    levels = torch.full((5,), 2)
    feed = dict(zip(("a", "b", "c", "rois", "levels"), (*maps, rois, levels), strict=True))
    (pooled,) = session.run(None, {name: tensor.numpy() for name, tensor in feed.items()})
    expected = multi_level_roi_align(maps, rois, levels, SCALES, SIZE, SAMPLING)
    np.testing.assert_allclose(pooled, expected.numpy(), atol=2e-6)


def test_the_fake_implementation_agrees() -> None:
    rois, levels = rois_and_levels(5, 2)
    torch.library.opcheck(multi_level_roi_align, (features(2), rois, levels, SCALES, SIZE, SAMPLING))
