"""Configs of torchvision's weights, deployed as they are: with random weights in the place of a download."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path

import cv2
import pytest
import torch
from torch import nn
from torchvision.models import get_weight

from backends import load
from tests.rewriters.small_segmentors import calibrated
from tests.tools.tiny import Run
from zoo import build_model
from zoo.config import load_config
from zoo.random_weights import spread_detector

pytestmark = pytest.mark.slow

Deploy = Callable[[Sequence[str]], Run]

ROOT = Path(__file__).parents[2]
SAMPLE_IMAGES = sorted((ROOT / "zoo" / "data" / "digits" / "val" / "images").iterdir())[:4]


def place(config: Path, model: nn.Module, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The model's state where torch.hub would have put the download of the config's weights."""
    folder = home / "hub" / "checkpoints"
    folder.mkdir(parents=True)
    torch.save(model.state_dict(), folder / "made.pth")
    name = f"made-{hashlib.sha256((folder / 'made.pth').read_bytes()).hexdigest()[:8]}.pth"
    (folder / "made.pth").rename(folder / name)
    weights = get_weight(load_config(config).checkpoint.removeprefix("torchvision://"))
    monkeypatch.setattr(weights.value, "url", f"https://127.0.0.1:1/{name}")
    monkeypatch.setenv("TORCH_HOME", str(home))
    monkeypatch.setattr(torch.hub, "_hub_dir", None)


def scaled_images(config: Path, folder: Path, part: float) -> list[Path]:
    """Images of the tensor's own height and this part of its width: chance weights magnify a resize's rounding."""
    height, width = load_config(config).preprocess.size
    width = round(width * part)
    paths = [folder / f"{number}.png" for number in range(len(SAMPLE_IMAGES))]
    for sample_image, path in zip(SAMPLE_IMAGES, paths, strict=True):
        cv2.imwrite(str(path), cv2.resize(cv2.imread(str(sample_image)), (width, height)))
    return paths


def segmentor(config: Path, images: list[torch.Tensor]) -> nn.Module:
    return calibrated(build_model(config, weights=False))


def detector(config: Path, images: list[torch.Tensor]) -> nn.Module:
    model = build_model(config, weights=False)
    spread_detector(model, images)
    return model


@pytest.mark.parametrize(
    ("name", "made", "part", "flags"),
    [
        ("segmentation/lraspp_mobilenet-v3-large_coco-voc", segmentor, 1.0, []),
        ("detection/ssdlite320_mobilenet-v3-large_coco", detector, 1.0, []),
        ("detection/faster-rcnn_mobilenet-v3-large-fpn-320_coco", detector, 0.7, ["--image-sizes"]),
    ],
)
def test_a_config_is_deployed_and_proved(
    name: str,
    made: Callable[[Path, list[torch.Tensor]], nn.Module],
    part: float,
    flags: list[str],
    deploy: Deploy,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    config = ROOT / "configs" / f"{name}.py"
    files = scaled_images(config, tmp_path, part)
    pixels = [cv2.imread(str(path)) for path in files]
    torch.manual_seed(0)
    tensors = [torch.from_numpy(image[:, :, ::-1].copy()).permute(2, 0, 1) / 255 for image in pixels]
    place(config, made(config, tensors), tmp_path / "home", monkeypatch)
    arguments = [str(config), "--work-dir", str(tmp_path / "work"), "--dynamic", "batch=1:2:2", *flags]
    run = deploy([*arguments, "--image", *map(str, files)])
    assert (run.code, run.err) == (0, "")
    manifest = next((tmp_path / "work").rglob("deployment.json"))
    record = json.loads((manifest.parent / "parity.json").read_text(encoding="utf-8"))
    assert record["verdict"] == "passed"
    assert {case["kind"] for case in record["cases"]} == {"graph", "pipeline"}
    with load(manifest.parent) as model:
        assert len(model(pixels)) == len(pixels)
