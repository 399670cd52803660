"""TimmClassifier: what it refuses, what it takes from timm, and the sizes of fixed-size transformers."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch

from zoo.errors import InputError
from zoo.families import family_of
from zoo.registry import MODELS
from zoo.target import AxisRange

timm = pytest.importorskip("timm", reason="timm is not installed; make test-all installs it")
pytestmark = pytest.mark.libraries

CONFIG = """
model = dict(type="TimmClassifier", architecture="{architecture}", num_classes=3, {options})
task = dict(type="ImageClassification", classes=[dict(name=name, category_id=1) for name in "abc"])
preprocess = dict(size={size}, mean=(0.5, 0.5, 0.5), std=(0.5, 0.5, 0.5))
checkpoint = "weights.pth"
"""


def build(architecture: str, **options: Any) -> Any:
    torch.manual_seed(0)
    section = {"type": "TimmClassifier", "architecture": architecture, "num_classes": 3}
    return MODELS.build({**section, **options}).eval()


def write(folder: Path, architecture: str, size: tuple[int, int], **options: Any) -> list[str]:
    """A config with its weights, and two images; their paths."""
    words = ", ".join(f"{name}={value!r}" for name, value in options.items())
    (folder / "own.py").write_text(CONFIG.format(architecture=architecture, size=size, options=words))
    model = build(architecture, **options)
    with torch.no_grad():
        model.get_classifier().weight.mul_(20)  # else the classes hardly differ
    torch.save(model.state_dict(), folder / "weights.pth")
    random = np.random.default_rng(0)
    paths = [folder / name for name in ("a.png", "b.png")]
    for path in paths:
        cv2.imwrite(str(path), cv2.resize(random.integers(0, 256, (9, 11, 3), np.uint8), (90, 80)))
    return [str(path) for path in paths]


def test_is_timms_own_model() -> None:
    ours = build("test_resnet")
    theirs = timm.create_model("test_resnet", pretrained=False, num_classes=3).eval()
    theirs.load_state_dict(ours.state_dict())
    images = torch.rand(2, 3, 64, 96)
    with torch.no_grad():
        torch.testing.assert_close(ours(images), theirs(images))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"architecture": "resnet19"}, 'unknown timm architecture "resnet19"; nearest: "resnet18"'),
        ({"architecture": "hf-hub:timm/resnet18"}, 'unknown timm architecture "hf-hub:timm/resnet18"'),
        (
            {"architecture": "test_resnet", "pretrained": True},
            "TimmClassifier: pretrained: timm would read files of its own",
        ),
        ({"architecture": "test_resnet", "depth": 3}, "timm cannot build test_resnet with .*depth"),
    ],
)
def test_what_is_refused(options: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        build(**options)


@pytest.mark.parametrize(
    ("architecture", "options", "size"),
    [
        ("test_resnet", {}, None),
        ("test_vit", {"dynamic_img_size": False}, "160x160"),
        ("test_vit", {"dynamic_img_size": False, "img_size": (64, 96)}, "64x96"),
        ("test_vit", {"dynamic_img_size": True}, None),
    ],
)
def test_the_sizes_that_a_model_takes(architecture: str, options: Any, size: str | None) -> None:
    model, sides = build(architecture, **options), {"height": AxisRange.fixed(48), "width": AxisRange.fixed(48)}
    if size is None:
        family_of(model).check_sides(model, sides)
        return
    with pytest.raises(InputError, match=f"height 48: this VisionTransformer takes only images of {size};"):
        family_of(model).check_sides(model, sides)


@pytest.mark.parametrize("change", [{"size": (64, 112)}, {"dynamic": {"height": (64, 80, 96)}}])
def test_another_size_than_that_of_a_fixed_transformer_is_refused(change: Any, tmp_path: Path) -> None:
    from pipeline import deploy

    images = write(tmp_path, "test_vit", change.get("size", (64, 96)), dynamic_img_size=False, img_size=(64, 96))
    config = tmp_path / "own.py"
    if "dynamic" in change:
        config.write_text(config.read_text() + f"export = dict(inputs={change['dynamic']})\n")
    with pytest.raises(InputError, match="VisionTransformer takes only images of 64x96; give preprocess size"):
        deploy(config, images=images, work_dir=tmp_path)


@pytest.mark.parametrize("exporter", ["torchscript", pytest.param("dynamo", marks=pytest.mark.slow)])
@pytest.mark.parametrize(
    ("architecture", "size", "options"),
    [
        ("test_vit", (64, 96), {"dynamic_img_size": False, "img_size": (64, 96)}),
        ("test_efficientnet", (64, 96), {}),
        ("test_mambaout", (64, 96), {}),
    ],
)
def test_a_deployment_is_proved(
    architecture: str, size: tuple[int, int], options: Any, exporter: str, tmp_path: Path
) -> None:
    from pipeline import deploy

    images = write(tmp_path, architecture, size, **options)
    config = tmp_path / "own.py"
    inputs = {} if options else {"height": (64, 64, 96), "width": (64, 96, 96)}
    config.write_text(config.read_text() + f"export = dict(exporter={exporter!r}, inputs={inputs})\n")
    deployed = deploy(config, images=images, work_dir=tmp_path)
    assert deployed.manifest.parity["verdict"] == "passed"
