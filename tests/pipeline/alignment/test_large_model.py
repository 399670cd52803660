"""torchvision's Faster R-CNN with ResNet-50, 41 M parameters at 800 pixels, in chunks: its memory, and its verdict."""

import json
import os
import subprocess
import sys
from pathlib import Path

import cv2
import pytest
import torch

from zoo import build_model
from zoo.config import load_config
from zoo.random_weights import spread_detector

ROOT = Path(__file__).parents[3]
CONFIG = ROOT / "configs" / "detection" / "faster-rcnn_r50-fpn_coco.py"
SAMPLE_IMAGES = sorted((ROOT / "zoo" / "data" / "digits" / "val" / "images").iterdir())[:2]
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
    spread_detector(model, [torch.from_numpy(image[..., ::-1].copy()).permute(2, 0, 1) / 255 for image in images])
    torch.save(model.state_dict(), tmp_path / "made.pth")
    del model
    data = tmp_path / "found.json"
    flags = ["--checkpoint", tmp_path / "made.pth", "--image", *paths, "--json", data, "--exporter", "torchscript"]
    command = [sys.executable, ROOT / "tools" / "align.py", CONFIG, *flags]
    with (tmp_path / "printed").open("w+") as printed:
        aligning = subprocess.Popen(list(map(str, command)), stdout=printed, stderr=printed, cwd=ROOT)
        _, status, usage = os.wait4(aligning.pid, 0)  # of this child: getrusage tells the most of all before it, too
        aligning.returncode = os.waitstatus_to_exitcode(status)
        peak = usage.ru_maxrss * 1024
        printed.seek(0)
        print(printed.read(), f"peak {peak / 2**30:.2f} GiB")  # noqa: T201 - shown where the test fails
    assert peak < MOST
    found = json.loads(data.read_text())
    assert aligning.returncode == 0, found["verdict"]
    assert len(found["pairs"]) > 200
