"""Masks pasted as products of matrices, against torchvision's own loop."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torchvision.models.detection.roi_heads import paste_masks_in_image

from rewriters.torchvision_detection.mask_pasting import pasted_masks

places, sides = st.floats(-30, 130, width=32), st.floats(0, 90, width=32)


@settings(max_examples=60, deadline=None)
@given(
    boxes=st.lists(
        st.tuples(sides, sides, st.floats(0, 90, width=32), st.floats(0, 90, width=32)), min_size=1, max_size=4
    ),
    size=st.tuples(st.integers(1, 100), st.integers(1, 100)),
    seed=st.integers(0, 99),
)
def test_it_is_what_torchvision_pastes(
    boxes: list[tuple[float, float, float, float]], size: tuple[int, int], seed: int
) -> None:
    corners = torch.tensor([[x, y, x + w, y + h] for x, y, w, h in boxes])
    masks = torch.rand(len(boxes), 28, 28, generator=torch.Generator().manual_seed(seed))
    reaches_in = (corners[:, 2:] > 1).all(1) & (corners[:, 0] < size[1] - 1) & (corners[:, 1] < size[0] - 1)
    corners, masks = corners[reaches_in], masks[reaches_in]  # torchvision fails for boxes that lie outside
    if not len(corners):
        return
    expected = paste_masks_in_image(masks[:, None], corners, size)[:, 0]
    torch.testing.assert_close(pasted_masks(masks, corners, size), expected, atol=2e-4, rtol=0)


def test_a_box_outside_the_image_leaves_nothing() -> None:
    assert not pasted_masks(torch.ones(2, 28, 28), torch.tensor([[50.0, 5, 90, 9], [-9, -9, -3, -3]]), (40, 40)).any()


@pytest.mark.parametrize("cells", [14, 28])
def test_a_full_mask_fills_its_box(cells: int) -> None:
    found = pasted_masks(torch.ones(1, cells, cells), torch.tensor([[10.0, 5, 30, 35]]), (40, 50)) >= 0.5
    assert found[0, 6:34, 11:29].all()
    found[0, 3:37, 8:32] = False
    assert not found.any()
