"""torchvision's Keypoint R-CNN, padded, against the unpatched model: eagerly and in ONNX Runtime."""

from pathlib import Path

import numpy as np
import pytest
import torch

from rewriters import rewriting
from tests.rewriters.small_families import outputs, sample_images
from tests.rewriters.small_models import (
    contract,
    export,
    fixed_target,
    keypoint_specs,
    run,
    small_faster_rcnn,
    small_keypoint_rcnn,
)
from zoo.errors import InputError
from zoo.families import contract_module
from zoo.target import AxisRange
from zoo.tasks.keypoint_detection import KeypointDetection

SLOTS = 20
FORWARD = "torchvision.RoIHeads.forward"


def test_the_contracts_keypoints_are_torchvisions_own() -> None:
    model = small_keypoint_rcnn()
    images = sample_images(2)
    num_dets, *_, keypoints = outputs(contract(model), images)
    with torch.no_grad():
        found = model(images)
    assert num_dets.min() >= 2
    for image, count in enumerate(num_dets.tolist()):
        assert torch.equal(keypoints[image, :count, :, :2], found[image]["keypoints"][..., :2])
        assert torch.equal(keypoints[image, :count, :, 2], found[image]["keypoints_scores"])
        assert not keypoints[image, count:].any()


@pytest.mark.parametrize("size", [(64, 96), (50, 70)])
def test_padded_equals_unpatched(size: tuple[int, int]) -> None:
    module = contract(small_keypoint_rcnn())
    images = sample_images(3, *size)
    expected = outputs(module, images)
    with rewriting(fixed_target(*size), eager=True) as session:
        padded = outputs(module, images)
    assert session.hits[FORWARD] == 1
    for got, want in zip(padded[:4], expected[:4], strict=True):
        torch.testing.assert_close(got, want, atol=1e-3, rtol=0)
    same_places(padded[4].numpy(), expected[4].numpy())


def same_places(found: np.ndarray, expected: np.ndarray) -> None:
    """The heatmaps' best values agree; so do their places, but where two pixels have nearly the same value."""
    np.testing.assert_allclose(found[..., 2], expected[..., 2], atol=1e-3)
    far = np.abs(found[..., :2] - expected[..., :2]).max(axis=-1)
    assert (far < 0.05).mean() >= 0.98
    assert np.ptp(expected[..., :2]) > 20


@pytest.mark.parametrize(
    ("exporter", "batch"),
    [
        ("torchscript", "batch"),
        pytest.param("torchscript", 2, marks=pytest.mark.slow),
        pytest.param("dynamo", "batch", marks=pytest.mark.slow),
        pytest.param("dynamo", 2, marks=pytest.mark.slow),
    ],
)
def test_onnxruntime_equals_unpatched(exporter: str, batch: str | int, tmp_path: Path) -> None:
    module = contract(small_keypoint_rcnn(box_score_thresh=0.7))
    target = fixed_target(64, 96, exporter=exporter)
    if batch == 2:
        target = target.with_(batch=AxisRange.fixed(2))
    export(module, target, tmp_path / "m.onnx", keypoint_specs(SLOTS, batch), required_rewriters=[FORWARD])
    seen = set()
    for seed in (0, 1, 3):
        images = sample_images(2 if batch == 2 else seed + 1, seed=seed)
        expected = outputs(module, images)
        found = run(tmp_path / "m.onnx", images)
        for got, want in zip(found[:4], expected[:4], strict=True):
            np.testing.assert_allclose(got, want.numpy(), atol=1e-3)
        seen |= set(found[0].tolist())
        if found[0].any():
            same_places(found[4], expected[4].numpy())
        else:
            assert not found[4].any()
    assert {0, 1} <= seen


def test_a_model_without_keypoints_is_refused() -> None:
    task = KeypointDetection([{"name": "x", "category_id": None}])
    with pytest.raises(InputError, match="model FasterRCNN gives no keypoints, which keypoint-detection needs"):
        contract_module(small_faster_rcnn(), task, "final", {})
