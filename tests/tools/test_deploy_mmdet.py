"""A config of mmdetection and its checkpoint, deployed by one command and proved."""

import json
from pathlib import Path

import cv2
import pytest
import torch

from backends import load
from tests.small_mmdet import CLASSES, SECTIONS, SIDES, byte_images, small
from tests.zoo.codebases.small_configs import write
from zoo.codebases.mmcv_ext.stand_in import MISSING, is_stand_in
from zooport.verbs import run_verb

pytestmark = [pytest.mark.openmmlab, pytest.mark.filterwarnings("ignore")]
pytest.importorskip("mmdet", reason="the models of these tests are mmdetection's (extra mmdet)", exc_type=ImportError)

PIPELINE = [
    {"type": "LoadImageFromFile"},
    {"type": "Resize", "scale": SIDES[::-1], "keep_ratio": False},
    {"type": "PackDetInputs"},
]


def test_a_config_of_mmdetection_becomes_a_proved_deployment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    detector = small("retinanet")
    names = [f"class {index}" for index in range(CLASSES)]
    checkpoint = {"state_dict": detector.model.state_dict(), "meta": {"dataset_meta": {"classes": names}}}
    torch.save(checkpoint, "epoch_3.pth")
    content = {"default_scope": "mmdet", "model": SECTIONS["retinanet"](), "test_pipeline": PIPELINE}
    write(tmp_path, content, "my_retinanet.py")
    for number, image in enumerate(byte_images(2)):
        cv2.imwrite(f"{number}.png", image.permute(1, 2, 0).numpy()[:, :, ::-1])
    arguments = ["my_retinanet.py", "--checkpoint", "epoch_3.pth", "--image", "0.png", "1.png", "--work-dir", "work"]
    code = run_verb(["deploy", *arguments, "--exporter", "torchscript"])
    assert code == 0, capsys.readouterr().err
    (manifest,) = Path("work").rglob("deployment.json")
    content = json.loads(manifest.read_text())
    assert content["parity"]["verdict"] == "passed"
    assert [info["name"] for info in content["classes"]] == names
    assert content["versions"].get("mmcv._ext") == (MISSING if is_stand_in() else None)
    assert "mmengine" in content["versions"]
    result = load(manifest.parent)(cv2.imread("0.png"))
    expected = detector(byte_images(1) / 255)[0]
    assert len(result) == len(expected["scores"]) >= 3
    assert abs(result.scores - expected["scores"].numpy()).max() < 5e-4
