"""Masks pasted as products of matrices, against torchvision's own loop."""

import pytest
import torch
from hypothesis import example, given
from hypothesis import strategies as st
from torchvision.models.detection.roi_heads import paste_masks_in_image

from rewriters.torchvision_detection.mask_pasting import pasted_masks
from tests.examples import examples

corners, sides = st.floats(0, 90, width=32), st.floats(0, 90, width=32)
boxes_in_images = st.lists(st.tuples(corners, corners, sides, sides), min_size=1, max_size=4)


@examples(25, 100)
@given(
    found=boxes_in_images,
    size=st.tuples(st.integers(1, 100), st.integers(1, 100)),
    cells=st.sampled_from([14, 28]),
    kind=st.sampled_from(["noise", "full", "saturated"]),
    seed=st.integers(0, 99),
)
@example(found=[(0.0, 0.0, 1.0, 24.0)], size=(23, 2), cells=28, kind="saturated", seed=0)  # a pixel 2e-6 from a half
def test_it_is_what_torchvision_pastes(
    found: list[tuple[float, float, float, float]], size: tuple[int, int], cells: int, kind: str, seed: int
) -> None:
    """Boxes reach past the image at the right and the bottom, as those of a mask may."""
    boxes = torch.tensor([[x, y, x + w, y + h] for x, y, w, h in found])
    boxes = boxes[(boxes[:, 0] < size[1] - 1) & (boxes[:, 1] < size[0] - 1)]  # torchvision fails for those outside
    masks = torch.rand(len(boxes), cells, cells, generator=torch.Generator().manual_seed(seed))
    masks = {"noise": masks, "full": torch.ones_like(masks), "saturated": masks.round()}[kind]
    expected = paste_masks_in_image(masks[:, None], boxes, size)[:, 0]
    pasted = pasted_masks(masks, boxes, size)
    torch.testing.assert_close(pasted, expected, atol=1e-5, rtol=0)


def test_each_mask_ends_with_its_own_image() -> None:
    masks = torch.ones(3, 28, 28)
    boxes = torch.tensor([[2.0, 3, 30, 35], [-5, -5, 80, 80], [10, 10, 20, 20]])
    ends = torch.tensor([[20.0, 25], [50, 10], [40, 50]])
    pasted = pasted_masks(masks, boxes, (50, 50), ends)
    whole = pasted_masks(masks, boxes, (50, 50))
    for mask, alone, (height, width) in zip(pasted, whole, ends.int().tolist(), strict=True):
        assert torch.equal(mask[:height, :width], alone[:height, :width])
        assert not mask[height:].any()
        assert not mask[:, width:].any()


def test_a_box_outside_the_image_leaves_nothing() -> None:
    assert not pasted_masks(torch.ones(2, 28, 28), torch.tensor([[50.0, 5, 90, 9], [-9, -9, -3, -3]]), (40, 40)).any()


def test_no_box_at_all() -> None:
    assert pasted_masks(torch.ones(0, 28, 28), torch.ones(0, 4), (40, 30)).shape == (0, 40, 30)


@pytest.mark.parametrize("cells", [14, 28])
def test_a_full_mask_fills_its_box(cells: int) -> None:
    found = pasted_masks(torch.ones(1, cells, cells), torch.tensor([[10.0, 5, 30, 35]]), (40, 50)) >= 0.5
    assert found[0, 6:34, 11:29].all()
    found[0, 3:37, 8:32] = False
    assert not found.any()
