"""A detector under autocast: its layers in half precision, its boxes not."""

from itertools import product
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from pipeline.training.trainable import Trainable
from tests.examples import slow_but
from tests.pipeline.training.tiny_recipe import ROOT
from zoo.build import build_model
from zoo.config import load_config


@pytest.fixture(scope="module")
def detector() -> nn.Module:
    config = load_config(ROOT / "configs/detection/faster-rcnn_r18-fpn_digits.py")
    return build_model(config).train()


TARGETS = [{"boxes": torch.tensor([[258.3, 20.0, 299.7, 90.0]]), "labels": torch.tensor([3])}]


def dtypes(detector: nn.Module, call: Any, amp: bool) -> dict[str, torch.dtype]:
    """Of the convolutions' outputs, the proposals and the regression's true boxes."""
    seen = {}

    def first_convolution(_module: nn.Module, _inputs: Any, output: Tensor) -> None:
        seen["convolution"] = output.dtype

    def heads(_module: nn.Module, inputs: Any) -> None:
        seen["proposals"] = inputs[1][0].dtype

    hooks = [
        detector.get_submodule("backbone.body.conv1").register_forward_hook(first_convolution),
        detector.get_submodule("roi_heads").register_forward_pre_hook(heads),
    ]
    with torch.autocast("cpu", torch.bfloat16, enabled=amp):
        losses = call()
    assert all(loss.isfinite() for loss in losses.values())
    for hook in hooks:
        hook.remove()
    return seen


@pytest.mark.parametrize("amp", slow_but((False, True), True))
def test_boxes_are_float32(detector: nn.Module, amp: bool) -> None:
    images = torch.rand(1, 3, 256, 320)
    found = dtypes(detector, lambda: Trainable(detector)(images=images, targets=TARGETS), amp)
    assert found == {"convolution": torch.bfloat16 if amp else torch.float32, "proposals": torch.float32}


@pytest.mark.slow
def test_torchvision_alone_rounds_them(detector: nn.Module) -> None:
    """Once this fails, in_float32 is not needed any more."""
    images = torch.rand(1, 3, 256, 320)
    assert dtypes(detector, lambda: detector(list(images), TARGETS), True)["proposals"] == torch.bfloat16


def test_nothing_stays_on_the_model(detector: nn.Module) -> None:
    Trainable(detector)(images=torch.rand(1, 3, 256, 320), targets=TARGETS)
    assert not any(module._forward_hooks for module in detector.modules())


def test_without_autocast_the_losses_are_the_models_own(detector: nn.Module) -> None:
    images, found = torch.rand(1, 3, 256, 320), []
    for call in (lambda: Trainable(detector)(images=images, targets=TARGETS), lambda: detector(list(images), TARGETS)):
        torch.manual_seed(0)
        found.append({name: float(loss.detach()) for name, loss in call().items()})
    assert found[0] == pytest.approx(found[1], rel=1e-4)


@pytest.mark.parametrize(
    ("name", "amp"),
    slow_but(
        product(("fcos", "keypoint-rcnn", "mask-rcnn", "retinanet", "ssdlite"), (False, True)),
        *(("fcos", False), ("keypoint-rcnn", False), ("mask-rcnn", False), ("ssdlite", True)),
    ),
)
def test_every_detector_gives_losses_that_mmengine_sums_up(name: str, amp: bool) -> None:
    config = load_config(ROOT / f"configs/detection/{name}_r18-fpn_digits.py")
    model = build_model(config, weights=False).train()
    mask = torch.zeros(1, 256, 320, dtype=torch.uint8)
    mask[:, 20:90, 258:300] = 1
    corners = torch.tensor([[[260.0, 22, 2], [298, 25, 2], [295, 88, 2], [262, 84, 0]]])
    targets = [{**TARGETS[0], "masks": mask, "keypoints": corners}]
    trainable = Trainable(model)
    with torch.autocast("cpu", torch.bfloat16, enabled=amp):
        losses = trainable(images=torch.rand(2, 3, 256, 320), targets=targets * 2)
    assert all("loss" in key for key in losses)
    total, _ = trainable.parse_losses(losses)
    total.backward()
    missing = [key for key, parameter in model.named_parameters() if parameter.grad is None]
    assert not missing
    assert total.isfinite()
