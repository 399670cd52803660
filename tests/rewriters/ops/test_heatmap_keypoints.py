"""zooport::heatmap_keypoints against torchvision's function, in ONNX Runtime from both exporters."""

import numpy as np
import onnxruntime as ort
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor, nn
from torchvision.models.detection.roi_heads import heatmaps_to_keypoints

from rewriters.ops.heatmap_keypoints import heatmap_keypoints
from tests.examples import examples
from tests.rewriters.ops.exported import FORMS, exported, session_of

POINTS, SIDE = 3, 12
pytestmark = pytest.mark.filterwarnings("ignore:# The axis name:UserWarning")


class Keypoints(nn.Module):
    def forward(self, maps: Tensor, boxes: Tensor) -> Tensor:
        return heatmap_keypoints(maps, boxes)


def maps_and_boxes(count: int, seed: int) -> tuple[Tensor, Tensor]:
    """Noise, whose largest value is clear; boxes from nothing to many pixels for a cell."""
    generator = torch.Generator().manual_seed(seed)
    low = torch.rand(count, 2, generator=generator) * 200
    sides = torch.rand(count, 2, generator=generator) ** 3 * 150
    maps = torch.randn(count, POINTS, SIDE, SIDE, generator=generator) * 3
    return maps, torch.cat([low, low + sides], dim=1)


@pytest.fixture(scope="module", params=FORMS, ids="-".join)
def session(request: pytest.FixtureRequest) -> ort.InferenceSession:
    axes = {"maps": {0: "r"}, "boxes": {0: "r"}}
    return session_of(exported(Keypoints(), maps_and_boxes(2, 1), axes, ["keypoints"], request.param))


@examples(12, 30)
@given(count=st.integers(1, 6), seed=st.integers(0, 10_000))
def test_onnxruntime_finds_what_torchvision_finds(session: ort.InferenceSession, count: int, seed: int) -> None:
    maps, boxes = maps_and_boxes(count, seed)
    points, scores = heatmaps_to_keypoints(maps, boxes)
    (found,) = session.run(None, {"maps": maps.numpy(), "boxes": boxes.numpy()})
    np.testing.assert_allclose(found[..., 2], scores.numpy(), atol=2e-5)
    far = np.abs(found[..., :2] - points[..., :2].numpy()).max(axis=-1)
    for row, point in np.argwhere(far > 1e-3).tolist():  # another pixel of the same value
        assert value_at(maps[row, point], boxes[row], found[row, point, :2]) >= scores[row, point] - 2e-5


def value_at(heatmap: Tensor, box: Tensor, place: np.ndarray) -> Tensor:
    """The value of the resized heatmap at a place of the image."""
    sides = (box[2:] - box[:2]).clamp(min=1)
    width, height = sides.ceil().long().tolist()
    resized = nn.functional.interpolate(heatmap[None, None], (height, width), mode="bicubic")[0, 0]
    x, y = ((torch.from_numpy(place) - box[:2]) / sides * sides.ceil() - 0.5).round().long().tolist()
    return resized[y, x]


def test_eager_is_torchvisions_own() -> None:
    maps, boxes = maps_and_boxes(4, 5)
    points, scores = heatmaps_to_keypoints(maps, boxes)
    assert torch.equal(heatmap_keypoints(maps, boxes), torch.cat([points[..., :2], scores[..., None]], dim=-1))


def test_the_fake_implementation_agrees() -> None:
    torch.library.opcheck(heatmap_keypoints, maps_and_boxes(2, 3))
