"""torchvision's Faster R-CNN with ResNet-50, 41 M parameters at 800 pixels, in chunks: its memory, and its verdict."""

import json
import resource
import subprocess
import sys
from pathlib import Path

import cv2
import pytest
import torch

from zoo import build_model
from zoo.calibration import calibrate
from zoo.config import load_config

ROOT = Path(__file__).parents[3]
CONFIG = ROOT / "configs" / "detection" / "faster-rcnn_r50-fpn_coco.py"
SAMPLE_IMAGES = sorted((ROOT / "zoo" / "data" / "digits" / "val" / "images").iterdir())[:1]
MOST = 6 * 2**30  # bytes
PARAMETERS = 41_000_000


@pytest.mark.slow
def test_the_memory_is_bounded(tmp_path: Path) -> None:
    height, width = load_config(CONFIG).preprocess.size
    images = [cv2.resize(cv2.imread(str(path)), (width, height)) for path in SAMPLE_IMAGES]
    paths = [tmp_path / f"{number}.png" for number in range(len(images))]
    for image, path in zip(images, paths, strict=True):
        cv2.imwrite(str(path), image)
    model = build_model(CONFIG, weights=False)
    assert sum(parameter.numel() for parameter in model.parameters()) > PARAMETERS
    calibrate(model, [torch.from_numpy(image[..., ::-1].copy()).permute(2, 0, 1) / 255 for image in images])
    torch.save(model.state_dict(), tmp_path / "made.pth")
    del model
    data = tmp_path / "found.json"
    flags = ["--checkpoint", tmp_path / "made.pth", "--image", *paths, "--json", data, "--exporter", "torchscript"]
    command = [sys.executable, ROOT / "tools" / "align.py", CONFIG, *flags]
    ended = subprocess.run(list(map(str, command)), capture_output=True, text=True, cwd=ROOT, check=False)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    print(ended.stdout, ended.stderr, f"peak {peak / 2**30:.2f} GiB")  # noqa: T201 - shown where the test fails
    assert peak < MOST
    found = json.loads(data.read_text())
    assert ended.returncode == 0, found["verdict"]
    assert len(found["pairs"]) > 200
