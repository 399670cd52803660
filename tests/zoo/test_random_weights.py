"""Random weights with which a detector finds things, and does not turn noise into findings."""

import pytest
import torch
from torch import nn
from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.backbone_utils import resnet_fpn_backbone

from zoo.errors import InputError
from zoo.random_weights import learn_statistics, spread_detector, spread_logits, spread_outputs


@pytest.mark.slow
def test_a_spread_detector_finds_things_and_is_calm() -> None:
    torch.manual_seed(0)
    backbone = resnet_fpn_backbone(
        backbone_name="resnet18", weights=None, norm_layer=nn.BatchNorm2d, trainable_layers=5
    )
    model = FasterRCNN(backbone, 11, min_size=64, max_size=96, box_score_thresh=0.2)
    sample_images = list(torch.rand(2, 3, 64, 96))
    spread_detector(model, sample_images)
    assert not model.training
    with torch.no_grad():
        found = model(sample_images)
        noisy = model([sample_image + 1e-6 * torch.randn_like(sample_image) for sample_image in sample_images])
    for one, other in zip(found, noisy, strict=True):
        assert len(one["scores"]) == len(other["scores"]) > 10
        assert one["scores"].std() > 0.05
        torch.testing.assert_close(one["scores"], other["scores"], atol=2e-4, rtol=0)


def test_another_kind_of_model_is_refused() -> None:
    with pytest.raises(InputError, match="model Linear: expected one of torchvision's detectors"):
        spread_detector(nn.Linear(2, 2), [torch.rand(3, 8, 8)])


def test_batch_norms_learn_the_statistics_of_what_they_see_and_nothing_is_dropped() -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.Dropout(0.9), nn.BatchNorm2d(4))
    images = 5 + 3 * torch.rand(2, 3, 16, 16)
    learn_statistics(model, lambda: model(images))
    assert not any(part.training for part in model.modules())
    assert model[1].momentum == 0.1
    with torch.no_grad():
        features = model[0](images)
        torch.testing.assert_close(model[1].running_mean, features.mean(dim=(0, 2, 3)))
        torch.testing.assert_close(model[1](features).mean(dim=(0, 2, 3)), torch.zeros(4), atol=1e-4, rtol=0)
        assert model(images).std() > 0.9


@pytest.mark.parametrize("zeros", [False, True])
def test_logits_spread(zeros: bool) -> None:
    torch.manual_seed(0)
    model = nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 5))
    if zeros:
        nn.init.zeros_(model[2].weight)
        nn.init.zeros_(model[2].bias)
    images = torch.rand(4, 3, 8, 8)
    spread_logits(model, 5, lambda: model(images))
    with torch.no_grad():
        torch.testing.assert_close(model(images).std(), torch.tensor(2.0))


def test_hooks_are_gone_where_the_model_fails_and_a_constant_is_not_spread() -> None:
    layer = nn.Linear(2, 2)

    def fail() -> None:
        raise ValueError("the model's")

    with pytest.raises(ValueError, match="the model's"):
        spread_outputs([layer], 0.0, 1.0, fail)
    assert not layer._forward_hooks
    with torch.no_grad():
        layer.weight.zero_()
        layer.bias.zero_()
        spread_outputs([layer], 0.0, 1.0, lambda: layer(torch.ones(3, 2)))
    assert not layer.weight.any()
