"""A config of mmsegmentation and its checkpoint, deployed by one command, without the library."""

from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest
import torch
from torch import nn

from backends import load
from tests.rewriters.small_segmentors import sample_images
from tests.zoo.codebases.small_configs import CLASSES, HEAD, MODEL, config_content, write
from zoo.build import build_model, build_section
from zoo.codebases import CodebaseConfig
from zoo.codebases.mmseg.segmentor import segmentor_of
from zooport.verbs import run_verb

pytestmark = pytest.mark.slow
SLIDE = {
    **MODEL,
    "decode_head": {**HEAD, "align_corners": True},
    "test_cfg": {"mode": "slide", "crop_size": (48, 48), "stride": (32, 32)},
}


def save_calibrated(content: dict[str, Any], path: Path) -> None:
    """Random weights whose batch norms have the statistics of images, and whose classes all occur."""
    torch.manual_seed(0)
    model: Any = build_section(segmentor_of(CodebaseConfig(Path("my.py"), content)))
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.momentum = None  # the plain average
    images = sample_images(4, 64, 96)
    with torch.no_grad():
        model.train()
        for _ in range(5):
            model(images)
        model.decode_head.conv_seg.bias -= model.eval()(images).mean(dim=(0, 2, 3))
    torch.save({"meta": {"dataset_meta": {"classes": CLASSES}}, "state_dict": model.state_dict()}, path)


@pytest.mark.parametrize("model", [MODEL, SLIDE], ids=["whole", "slide"])
def test_one_command(model: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    content = config_content(model)
    write(tmp_path, content, "mine.py")
    save_calibrated(content, tmp_path / "epoch_1.pth")
    images = (255 * sample_images(2, 90, 130).permute(0, 2, 3, 1).numpy()).astype(np.uint8)
    for name, image in zip(("a.png", "b.png"), images, strict=True):
        cv2.imwrite(name, image)
    assert run_verb(["deploy", "mine.py", "--checkpoint", "epoch_1.pth", "--image", "a.png", "b.png"]) == 0
    assert build_model("work_dirs/mine.py").slides == (model is SLIDE)
    with load("work_dirs/semantic-segmentation/mine/onnxruntime-fp32") as deployment:
        corners = {"align_corners": True} if model is SLIDE else {}
        assert deployment.manifest.task_options == {"resize": "logits", **corners}
        assert [info.name for info in deployment.manifest.classes] == list(CLASSES)
        assert deployment.manifest.parity["verdict"] == "passed"
        result = deployment(images[0])
    assert result.label_map.shape == (90, 130)
    assert len(result) == len(CLASSES)
