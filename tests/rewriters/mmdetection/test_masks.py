"""Masks of mmdetection's RoI heads, and of the whole image: the model of zooport has mmdetection's own."""

import functools

import pytest
import torch

from tests.small_mmdet import SIDES, WITH_MASKS, WITH_WHOLE_MASKS, byte_images, own_results, small
from zoo.tasks.instance_masks.proof.model_output import instances_of
from zoo.tasks.instance_segmentation.sampled_pasting import sampled_masks

pytestmark = [pytest.mark.openmmlab, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("mmdet", reason="the models of these tests are mmdetection's (extra mmdet)", exc_type=ImportError)

SAME = 1e-4  # the part of pixels that may differ: those whose probability is the threshold
detector = functools.cache(small)


@pytest.mark.parametrize("name", WITH_MASKS)
def test_pasted_they_are_mmdetections_own(name: str) -> None:
    model = detector(name)
    images = byte_images(2)
    with torch.no_grad():
        found = model(images / 255)
    for ours, own in zip(found, own_results(model, images), strict=True):
        assert len(own.scores) >= 3
        torch.testing.assert_close(ours["boxes"], own.bboxes, atol=1e-3, rtol=0)
        pasted = sampled_masks(ours["masks"][:, 0].numpy(), own.bboxes.numpy(), SIDES)
        assert own.masks.any()
        assert (pasted != own.masks.numpy()).mean() < SAME


@pytest.mark.parametrize("name", WITH_WHOLE_MASKS)
def test_those_of_the_whole_image_are_mmdetections_own(name: str) -> None:
    """mmdetection gives the instances of queries in any order, and keeps those without a pixel."""
    model = detector(name)
    images = byte_images(3)
    with torch.no_grad():
        counts, scores, labels, masks = instances_of(model, model(images / 255))
    for number, own in enumerate(own_results(model, images)):
        order = own.scores.argsort(descending=True, stable=True)
        order = order[own.masks[order].flatten(1).any(dim=1)]
        count = int(counts[number])
        assert len(order) == count >= 3
        torch.testing.assert_close(scores[number, :count], own.scores[order], atol=1e-5, rtol=0)
        assert labels[number, :count].tolist() == own.labels[order].tolist()
        assert (masks[number, :count] != own.masks[order].bool()).float().mean() < SAME
