"""Random weights with which a detector finds things, and does not turn noise into findings."""

import pytest
import torch
from torch import nn
from torchvision.models.detection import FasterRCNN
from torchvision.models.detection.backbone_utils import resnet_fpn_backbone

from zoo.calibration import calibrate
from zoo.errors import InputError


def test_a_calibrated_detector_finds_things_and_is_calm() -> None:
    torch.manual_seed(0)
    backbone = resnet_fpn_backbone(
        backbone_name="resnet18", weights=None, norm_layer=nn.BatchNorm2d, trainable_layers=5
    )
    model = FasterRCNN(backbone, 11, min_size=64, max_size=96, box_score_thresh=0.2)
    sample_images = list(torch.rand(2, 3, 64, 96))
    calibrate(model, sample_images)
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
        calibrate(nn.Linear(2, 2), [torch.rand(3, 8, 8)])
