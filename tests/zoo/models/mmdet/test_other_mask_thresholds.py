"""Scores of SOLO's kind where a pixel of a mask is within rounding of the threshold; no mmdetection is needed."""

from functools import partial
from types import SimpleNamespace

import pytest
import torch
from torch import Tensor, nn

from zoo.models.mmdet.other_mask_thresholds import other_mask_thresholds

THRESHOLD, TOLERANCE = 0.5, 1e-4
CHOICES = 6  # of each image


class MeanScores(nn.Module):
    """Masks [N, h, w] -> the mean [N] of each one's pixels above the threshold, as SOLO scores a mask."""

    def __init__(self) -> None:
        super().__init__()
        self.decisions = SimpleNamespace(mask_thr=THRESHOLD)

    def forward(self, masks: Tensor) -> Tensor:
        inside = masks > self.decisions.mask_thr
        return (masks * inside).sum(dim=(1, 2)) / inside.sum(dim=(1, 2))


def masks(near: float) -> Tensor:
    """Two masks of three pixels inside, of which one of the second is so far above the threshold."""
    pixels = torch.tensor([[[0.9, 0.8, 0.7, 0.1]], [[0.9, 0.8, THRESHOLD, 0.1]]])
    pixels[1, 0, 2] += near
    return pixels


@pytest.mark.parametrize(("near", "is_excused"), [(1e-7, True), (5e-6, True), (5e-5, True), (2e-4, False)])
def test_a_pixel_within_rounding_of_the_threshold_may_be_on_its_other_side(near: float, is_excused: bool) -> None:
    model, given = MeanScores(), masks(near)
    theirs = MeanScores()(masks(-near))[1]  # of a backend that rounds otherwise
    choices = list(other_mask_thresholds(model, partial(model, given), TOLERANCE))
    assert [image for image, _, _ in choices] == [0] * CHOICES + [1] * CHOICES
    others = torch.stack([run()[1] for image, _, run in choices if image == 1])
    assert bool((others - theirs).abs().min() < 1e-3) == is_excused
    assert model.decisions.mask_thr == THRESHOLD


def test_the_reason_says_how_near() -> None:
    model = MeanScores()
    choices = list(other_mask_thresholds(model, partial(model, masks(0.0)), TOLERANCE))
    assert choices[0][1] == "pixels of masks within 1e-06 of the threshold 0.5"


def test_the_threshold_comes_back_where_the_model_fails() -> None:
    model = MeanScores()
    *_, (_, _, run) = other_mask_thresholds(model, partial(model, masks(0.0)), TOLERANCE)
    model.register_forward_pre_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run()
    assert model.decisions.mask_thr == THRESHOLD
