"""Segmentors of segmentation_models_pytorch, built from a config's section."""

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.rewriters.small_models import fixed_target
from tests.rewriters.small_segmentors import sample_images
from zoo.contract.coverage import Usage
from zoo.errors import InputError
from zoo.families import checked_divisor, contract_module, family_of
from zoo.models.resnet import ResNet18
from zoo.registry import MODELS
from zoo.tasks import build_task

smp = pytest.importorskip("segmentation_models_pytorch", reason="needs the extra smp")
pytestmark = pytest.mark.libraries

ENCODER = "tu-test_resnet"  # timm's own for tests, with few parameters


def build(architecture: str = "Unet", encoder: str = ENCODER, num_classes: int = 3, **options: Any) -> Any:
    torch.manual_seed(0)
    section = {"type": "SmpSegmentor", "architecture": architecture, "encoder": encoder, "num_classes": num_classes}
    return MODELS.build({**section, **options}).eval()


def contract(model: Any, classes: int, level: str) -> Any:
    task = build_task({"type": "SemanticSegmentation", "classes": [{"name": str(label)} for label in range(classes)]})
    return contract_module(model, task, level, {})


@pytest.mark.parametrize(
    "architecture",
    [
        pytest.param(kind.__name__, marks=pytest.mark.slow if kind.__name__ == "DPT" else ())
        for kind in smp.MODEL_ARCHITECTURES_MAPPING.values()
    ],
)
def test_is_the_librarys_own(architecture: str) -> None:
    encoder = "tu-test_vit" if architecture == "DPT" else ENCODER
    model = build(architecture, encoder)
    theirs = smp.create_model(architecture, encoder, encoder_weights=None, classes=3).eval()
    theirs.load_state_dict(model.state_dict())  # strictly: the names are the library's own
    assert type(model) is type(theirs)
    assert family_of(model).name == "a segmentor of segmentation_models_pytorch"
    images = sample_images(2, 128, 160)
    with torch.no_grad():
        expected = theirs(images)
        torch.testing.assert_close(contract(model, 3, "decoded")(images)[0], expected)
        assert (contract(model, 3, "final")(images)[0] == expected.argmax(dim=1)).all()


@pytest.mark.parametrize(
    ("architecture", "options", "divisor"),
    [("Unet", {}, 1), ("FPN", {}, 32), ("FPN", {"encoder_depth": 4}, 16), ("DeepLabV3Plus", {}, 16), ("PSPNet", {}, 8)],
)
def test_sizes_that_the_encoder_does_not_divide_are_refused(
    architecture: str, options: dict[str, Any], divisor: int
) -> None:
    model = build(architecture, **options)
    assert checked_divisor(model, fixed_target(2 * divisor, 4 * divisor)) == divisor
    if divisor == 1:
        return
    size = 3 * divisor + 1
    with pytest.raises(RuntimeError, match="Wrong input shape"):
        model(torch.rand(1, 3, 2 * divisor, size))
    with pytest.raises(
        InputError, match=f"^width {size}: {architecture} takes multiples of {divisor}; give "
    ) as caught:
        checked_divisor(model, fixed_target(2 * divisor, size))
    assert "\n" not in str(caught.value)


def test_one_class_is_foreground_and_background() -> None:
    model, images = build(num_classes=1), sample_images(2, 64, 96)
    theirs = smp.create_model("Unet", ENCODER, encoder_weights=None, classes=1).eval()
    theirs.load_state_dict(model.state_dict())
    with torch.no_grad():
        foreground = theirs(images).sigmoid()[:, 0] > 0.5
        assert foreground.any()
        assert not foreground.all()
        assert (contract(model, 2, "final")(images)[0] == foreground).all()


def test_the_class_of_the_image_is_left_out() -> None:
    model, images = build(aux_params={"classes": 2}), sample_images(1, 64, 96)
    assert "classification_head.3.weight" in model.state_dict()
    usage = Usage()
    with torch.no_grad(), family_of(model).coverage(model, usage):
        (logits,) = contract(model, 3, "decoded")(images)
    assert logits.shape == (1, 3, 64, 96)
    assert sum(usage.counts.values()) == 64 * 96
    losses = family_of(model).losses(model, {"images": images, "label_maps": logits.argmax(dim=1)})
    assert losses["loss"] > 0


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"architecture": "UNet"}, 'unknown architecture "UNet" of segmentation_models_pytorch; nearest: "Unet"'),
        ({"encoder": "resnet19"}, 'unknown encoder "resnet19" of segmentation_models_pytorch; nearest: "resnet1'),
        ({"encoder": "tu-resnet19"}, r"cannot build Unet on tu-resnet19: Unknown model \(resnet19\)"),
        ({"encoder": "resnet18", "decoder_chanels": 3}, 'Unet has no option "decoder_chanels"; nearest: "decoder_chan'),
        ({"encoder_depth": 2}, "cannot build Unet on tu-test_resnet: Model depth is 2, but "),
    ],
)
def test_what_cannot_be_built_is_one_line(given: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words) as caught:
        build(**given)
    assert "\n" not in str(caught.value)


def test_nothing_is_downloaded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def fake_download(*_: object, **__: object) -> None:
        raise AssertionError("a download was asked for")

    monkeypatch.setattr("segmentation_models_pytorch.encoders.hf_hub_download", fake_download)
    monkeypatch.setattr("timm.models._builder.load_pretrained", fake_download)
    for encoder in ("mobileone_s0", ENCODER):
        build(encoder=encoder)


@pytest.mark.parametrize("depth", [3, 5])
def test_the_encoder_of_the_zoo_gives_the_maps_of_its_resnet(depth: int) -> None:
    backbone = ResNet18(16).eval()
    model = build(encoder="zoo-resnet18", encoder_depth=depth, decoder_channels=(24, 16, 12, 8, 8)[-depth:])
    encoder = family_of(model).backbone(model)
    assert encoder is not None
    encoder.load_state_dict(backbone.state_dict())
    images = torch.rand(1, 3, 64, 96)
    with torch.no_grad():
        maps = encoder(images)
        assert [each.shape[1] for each in maps] == [3, 16, 16, 32, 64, 128][: depth + 1]
        for one, other in zip(maps[2:], backbone(images), strict=False):
            assert torch.equal(one, other)
        assert model(images).shape == (1, 3, 64, 96)
