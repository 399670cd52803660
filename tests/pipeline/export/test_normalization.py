"""Keys mean and std of a config: inside the graph, once, and proved against a normalisation that shares no code."""

import itertools
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from backends import load
from pipeline.deploying import deploy
from pipeline.evaluation.input_policy import InputPolicy
from pipeline.evaluation.reference import reference_model
from pipeline.training.trainable import Trainable
from zoo import build_model
from zoo.config import load_config
from zoo.errors import GateError, InputError
from zoo.families import contract_module, first_step
from zoo.input_kinds.image.normalization import Normalization
from zoo.preprocess import Preprocess
from zoo.tasks.contract import FIRST_STEP

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
NET = """
from torch import nn


class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 2, 1))
"""
CONFIG = """
model = dict(type="{module}.Net")
task = dict(type="SemanticSegmentation", classes=[dict(name="a", category_id=1), dict(name="b", category_id=2)])
preprocess = dict(size=(64, 96), resize="stretch"{keys})
checkpoint = "net.pth"
export = dict(exporter="{exporter}")
"""
NUMBERS = itertools.count()  # of modules: one process imports one of each name
KEYS = f", mean={MEAN}, std={STD}"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A config's folder with two images and seeded weights, as the current one."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"plain_net_{next(NUMBERS)}.py").write_text(NET)
    write_config(tmp_path)
    torch.manual_seed(0)
    torch.save(build_model("net.py", weights=False).state_dict(), "net.pth")
    for name in ("one", "two"):
        pixels = np.random.default_rng(len(name)).integers(0, 256, (8, 12, 3)).astype(np.uint8)
        pixels = pixels if name == "one" else 255 - pixels
        cv2.imwrite(f"{name}.png", cv2.resize(pixels, (120, 80), interpolation=cv2.INTER_CUBIC))
    return tmp_path


def write_config(folder: Path, keys: str = KEYS, exporter: str = "torchscript") -> None:
    (folder / "net.py").write_text(
        CONFIG.format(module=next(folder.glob("plain_net_*.py")).stem, keys=keys, exporter=exporter)
    )


@pytest.mark.parametrize("exporter", ["torchscript", pytest.param("dynamo", marks=pytest.mark.slow)])
def test_a_deployment_normalises_inside_its_graph(folder: Path, exporter: str) -> None:
    write_config(folder, exporter=exporter)
    deployment = deploy("net.py", images=["one.png", "two.png"])
    assert deployment.manifest.parity["verdict"] == "passed"
    plain = deployment.manifest.preprocess.to_dict()
    assert (plain["mean"], plain["std"]) == (list(MEAN), list(STD))
    place = next(folder.glob("work_dirs/*/*/onnxruntime-fp32"))
    image = cv2.imread("one.png")
    assert image is not None
    with load(place) as model:
        tensor, _ = model.preprocess([image])
        found = model(image).label_map
    assert tensor.min() >= 0
    assert tensor.max() <= 1, "what the host makes stays 0..1"
    pixels = cv2.resize(image, (96, 64))[:, :, ::-1].astype(np.float32) / 255
    own = torch.from_numpy(((pixels - np.float32(MEAN)) / np.float32(STD)).transpose(2, 0, 1).copy())
    logits = build_model("net.py")(own[None])[0].detach()
    clear = (logits[0] - logits[1]).abs() > 1e-3
    assert clear.float().mean() > 0.9
    with load(place) as model:
        scores = model.runner.run({"images": tensor})["label_map"][0]
    np.testing.assert_array_equal(scores[clear.numpy()], logits.argmax(0).numpy()[clear.numpy()])
    assert found.shape == image.shape[:2]


def test_another_normalisation_in_the_graph_is_found(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference subtracts in its own way: a graph that does it otherwise differs end to end, and in its numbers."""
    forward = Normalization.forward
    monkeypatch.setattr(Normalization, "forward", lambda self, images: forward(self, images.flip(1)))
    with pytest.raises(GateError):
        deploy("net.py", images=["one.png", "two.png"])
    monkeypatch.setattr(Normalization, "forward", lambda self, images: (images - self.mean) / (self.std * 1.02))
    with pytest.raises(GateError, match="image standard deviation"):
        deploy("net.py", images=["one.png", "two.png"])
    assert folder.exists()


def test_without_the_keys_nothing_is_added(folder: Path) -> None:
    """Neither to the graph's module nor to the manifest, whose preprocessing is part of the file's metadata."""
    config, model = load_config("net.py"), build_model("net.py")
    plain, normalising = (
        contract_module(model, config.task, "final", {}, rule=rule)
        for rule in (Preprocess((64, 96)), config.preprocess)
    )
    assert FIRST_STEP in dict(normalising.named_modules())
    assert FIRST_STEP not in dict(plain.named_modules())
    assert not plain._forward_pre_hooks
    assert not {"mean", "std"} & Preprocess((64, 96)).to_dict().keys()
    assert folder.exists()


def test_the_evaluated_model_and_the_trained_one_are_given_normalised_images(folder: Path) -> None:
    config = load_config("net.py")
    model = build_model("net.py")
    rule = config.preprocess
    image = np.full((64, 96, 3), (0, 128, 255), np.uint8)
    expected = (np.array((255, 128, 0), np.float32) / 255 - np.float32(MEAN)) / np.float32(STD)
    seen: list[Tensor] = []
    model.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0]))
    reference = reference_model(
        config, config.task, model, InputPolicy(rule, image_sizes=False), batch_size=1, device="cpu"
    )
    reference(image)

    class Losses:
        float32_parts = ()

        def losses(self, _model: nn.Module, batch: Any) -> dict[str, Tensor]:
            seen.append(batch["images"])
            return {"loss": batch["images"].sum()}

    trainable = Trainable(model, first_step(model, config.task, rule))
    trainable.family = Losses()  # type: ignore[assignment]
    trainable(images=torch.from_numpy(image[..., ::-1].copy()).permute(2, 0, 1)[None] / 255)
    assert len(seen) == 2
    for images in seen:
        np.testing.assert_allclose(images[0, :, 5, 7].numpy(), expected, rtol=1e-5)
    assert folder.exists()


@pytest.mark.parametrize(
    ("config", "own"),
    [
        ("fcn_r18_digits", "EncoderDecoder"),
        ("fcos_r18-fpn_digits", "FCOS"),
        ("lraspp_mobilenet-v3-large_coco-voc", "LRASPP"),
    ],
)
def test_a_model_that_normalises_itself_is_refused(config: str, own: str) -> None:
    read = load_config(config)
    model = build_model(config, weights=False)
    rule = Preprocess((64, 96), mean=MEAN, std=STD)
    with pytest.raises(InputError, match=f"mean and std with {own}, which normalises its images itself .mean .0.485"):
        contract_module(model, read.task, "final", read.export.forward, rule=rule)
    contract_module(model, read.task, "final", read.export.forward, rule=Preprocess((64, 96)))


def test_one_that_is_built_to_leave_its_images_alone_is_taken() -> None:
    read = load_config("fcn_r18_digits")
    section = {**read.model, "image_mean": (0.0, 0.0, 0.0), "image_std": (1.0, 1.0, 1.0)}
    from zoo.registry import MODELS

    model = MODELS.build(section).eval()
    assert first_step(model, read.task, Preprocess((64, 96), mean=MEAN, std=STD)) is not None


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"mean": MEAN}, "got mean without std; give both, or neither"),
        ({"std": STD}, "got std without mean; give both, or neither"),
        (
            {"mean": (123.675, 116.28, 103.53), "std": STD},
            "the tensor is 0..1; divide numbers of the scale 0..255 by 255",
        ),
        ({"mean": MEAN, "std": (58.4, 57.1, 57.4)}, "divide numbers of the scale 0..255 by 255"),
        ({"mean": 0.5, "std": STD}, "expected three numbers .red, green, blue., 0 to 1"),
        ({"mean": (0.5, 0.5), "std": STD}, "expected three numbers"),
        ({"mean": (0.5, float("nan"), 0.5), "std": STD}, "expected three numbers"),
        ({"mean": (0.5, True, 0.5), "std": STD}, "expected three numbers"),
        ({"mean": (-0.1, 0.5, 0.5), "std": STD}, "0 to 1"),
        ({"mean": MEAN, "std": (0.2, 0, 0.2)}, "more than 0, at most 1"),
    ],
)
def test_wrong_numbers(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words):
        Preprocess.from_dict({"size": (64, 96), **fields})
