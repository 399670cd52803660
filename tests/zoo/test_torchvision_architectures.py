"""torchvision's own models, built from a config's section."""

import copy
from typing import Any

import pytest
import torch
from torch import nn
from torchvision.models import get_model
from torchvision.ops.misc import FrozenBatchNorm2d
from torchvision.transforms.functional import normalize

from zoo.errors import InputError
from zoo.models.torchvision_builder import build_torchvision
from zoo.registry import MODELS

LRASPP = "lraspp_mobilenet_v3_large"
SSDLITE = "ssdlite320_mobilenet_v3_large"
INIT = {"googlenet": {"init_weights": False}}


def build(kind: str, architecture: str, **options: Any) -> Any:
    torch.manual_seed(0)
    return MODELS.build({"type": kind, "architecture": architecture, "num_classes": 3, **options}).eval()


class TestSegmentor:
    def test_is_torchvisions_on_what_its_transform_gives(self) -> None:
        ours = build("TorchvisionSegmentor", LRASPP)
        theirs = get_model(LRASPP, weights=None, weights_backbone=None, num_classes=3).eval()
        theirs.load_state_dict(ours.state_dict())  # strictly: the names are torchvision's own
        assert type(ours) is type(theirs)
        images = torch.rand(2, 3, 64, 96)
        with torch.no_grad():
            expected = theirs(normalize(images, (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)))["out"]
            raw = theirs(images)["out"]
            torch.testing.assert_close(ours(images)["out"], expected)
            torch.testing.assert_close(copy.deepcopy(ours)(images)["out"], expected)
        assert not torch.allclose(raw, expected, rtol=1e-2)

    def test_an_unknown_architecture(self) -> None:
        with pytest.raises(InputError, match='unknown torchvision architecture "fcn_resnet5"; nearest: "fcn_resnet50"'):
            build("TorchvisionSegmentor", "fcn_resnet5")

    def test_a_detector_is_no_segmentor(self) -> None:
        with pytest.raises(InputError, match=f'unknown torchvision architecture "{SSDLITE}"'):
            build("TorchvisionSegmentor", SSDLITE)


class TestDetector:
    @pytest.mark.parametrize("eps", [0.0, 1e-5])
    def test_frozen_batch_norm_is_the_same_function_in_the_backbone_alone(self, eps: float) -> None:
        plain, frozen = (build("TorchvisionDetector", SSDLITE, frozen_batch_norm=value) for value in (None, eps))
        norms = [module for module in frozen.backbone.modules() if isinstance(module, FrozenBatchNorm2d)]
        assert {norm.eps for norm in norms} == {eps}
        assert len(norms) == sum(isinstance(module, nn.BatchNorm2d) for module in plain.backbone.modules()) > 10
        assert not any(isinstance(module, FrozenBatchNorm2d) for module in frozen.head.modules())
        for module in plain.backbone.modules():
            if isinstance(module, nn.BatchNorm2d):
                module.eps = max(eps, 1e-30)  # torch 2.11 refuses 0
        with torch.no_grad():
            images = torch.rand(1, 3, 64, 96)
            expected = plain.backbone(images)["0"]
            torch.testing.assert_close(frozen.backbone(images)["0"], expected, atol=1e-5, rtol=1e-3)

    def test_an_unknown_architecture(self) -> None:
        with pytest.raises(InputError, match='unknown torchvision architecture "ssd"; nearest: "ssd300_vgg16"'):
            build("TorchvisionDetector", "ssd")


class TestClassifier:
    @pytest.mark.parametrize("architecture", ["squeezenet1_1", "googlenet"])
    def test_is_torchvisions_on_normalised_images(self, architecture: str) -> None:
        ours = build("TorchvisionClassifier", architecture)
        theirs = get_model(architecture, weights=None, num_classes=3, **INIT.get(architecture, {})).eval()
        theirs.load_state_dict(ours.state_dict())
        images = torch.rand(2, 3, 64, 96)
        with torch.no_grad():
            torch.testing.assert_close(ours(images), theirs(images))

    def test_an_unknown_architecture(self) -> None:
        with pytest.raises(InputError, match='unknown torchvision architecture "resnet19"; nearest: "resnet18"'):
            build("TorchvisionClassifier", "resnet19")


def test_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch) -> None:
    def fake_download(*_: object, **__: object) -> None:
        raise AssertionError("a download was asked for")

    monkeypatch.setattr("torchvision.models._api.load_state_dict_from_url", fake_download)
    from torchvision.models import detection

    assert isinstance(build_torchvision(detection, SSDLITE, 3), nn.Module)
