"""Rules of other libraries from a config to a proved deployment: the centre of an image, and sizes by its edges."""

import itertools
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from PIL import Image

from backends import load
from pipeline.deploying import deploy
from zoo import build_model
from zoo.config import load_config
from zoo.errors import InputError
from zoo.target import AxisRange

NET = """
from torch import nn


class Net(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 2, 1))
"""
CONFIG = """
model = dict(type="{module}.Net")
task = dict(type="SemanticSegmentation", classes=[dict(name="a", category_id=1), dict(name="b", category_id=2)])
preprocess = {preprocess}
checkpoint = "net.pth"
export = dict(exporter="torchscript")
"""
CENTRE = {
    "size": (64, 72),
    "resize": "shortest",
    "shortest_edge": 75,
    "interpolation": "antialias_bicubic",
    "channel_order": "bgr",
    "mean": (0.4, 0.45, 0.5),
    "std": (0.2, 0.25, 0.3),
}
EDGES = {
    "resize": "shortest",
    "shortest_edge": 64,
    "longest_edge": 90,
    "interpolation": "antialias",
    "size_divisor": 1,
    "multiple_of": 8,
    "mean": (0.4, 0.45, 0.5),
    "std": (0.2, 0.25, 0.3),
}
NUMBERS = itertools.count()  # of modules: one process imports one of each name


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, with a module, seeded weights and two images of other proportions."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / f"edge_net_{next(NUMBERS)}.py").write_text(NET)
    write_config(tmp_path, CENTRE)
    torch.manual_seed(0)
    torch.save(build_model("net.py", weights=False).state_dict(), "net.pth")
    pixels = np.random.default_rng(5).integers(0, 256, (10, 15, 3)).astype(np.uint8)
    for name, size in (("wide", (200, 120)), ("tall", (101, 160))):
        cv2.imwrite(f"{name}.png", cv2.resize(pixels, size, interpolation=cv2.INTER_LINEAR))
    return tmp_path


def write_config(folder: Path, preprocess: dict[str, Any]) -> None:
    module = next(folder.glob("edge_net_*.py")).stem
    (folder / "net.py").write_text(CONFIG.format(module=module, preprocess=preprocess))


def run(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The image, and the tensor and the label map that its deployment makes of it."""
    image = cv2.imread(f"{name}.png")
    assert image is not None
    with load(next(folder.glob("work_dirs/*/*/onnxruntime-fp32")), check=True) as model:
        return image, model.preprocess([image])[0][0], model(image).label_map


def test_the_centre_of_an_image(folder: Path) -> None:
    deployment = deploy("net.py", images=["wide.png", "tall.png"])
    assert deployment.manifest.parity["verdict"] == "passed"
    assert deployment.manifest.preprocess.to_dict()["channel_order"] == "bgr"
    image, tensor, label_map = run(folder, "wide")
    assert label_map.shape == (120, 200)
    resized = np.asarray(Image.fromarray(image[..., ::-1]).resize((125, 75), Image.Resampling.BICUBIC))
    centre = resized[5:69, 26:98]
    np.testing.assert_allclose(tensor, centre.transpose(2, 0, 1) / 255, atol=1.001 / 255)  # a grey level
    blue_first = torch.from_numpy(tensor[::-1].copy())
    mean, std = (torch.tensor(CENTRE[name]).view(3, 1, 1) for name in ("mean", "std"))
    logits = build_model("net.py")(((blue_first - mean) / std)[None])[0].detach().numpy()
    rows = np.clip((np.arange(120) + 0.5) * 75 / 120 - 5, 0, 63).astype(int)
    columns = np.clip((np.arange(200) + 0.5) * 125 / 200 - 26, 0, 71).astype(int)
    expected = logits.argmax(axis=0)[np.ix_(rows, columns)]
    assert (label_map == expected).mean() > 0.999


def test_sizes_by_the_edges_of_an_image(folder: Path) -> None:
    write_config(folder, EDGES)
    config = load_config("net.py")
    height = config.task.kind.sides(config.preprocess)["height"]
    assert height == AxisRange(32, 64, 96)
    deployment = deploy(config, images=["wide.png", "tall.png"])
    assert deployment.manifest.parity["verdict"] == "passed"
    for name, expected in (("wide", (56, 96)), ("tall", (96, 64))):
        image, tensor, label_map = run(folder, name)
        assert tensor.shape[1:] == expected
        assert label_map.shape == image.shape[:2]


def test_another_size_than_the_centres_is_refused(folder: Path) -> None:
    config = load_config("net.py")
    sides = {"height": AxisRange.fixed(96), "width": AxisRange.fixed(96)}
    with pytest.raises(InputError, match=r"the centre of size \(64, 72\) is cut out, and the target has \(96, 96\)"):
        config.task.kind.target_rule(config.preprocess, sides)
    assert folder.exists()
