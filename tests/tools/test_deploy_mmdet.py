"""A config of mmdetection and its checkpoint, deployed by one command and proved."""

import json
from pathlib import Path
from typing import Any

import cv2
import pytest
import torch

from backends import load
from tests.small_mmdet import CLASSES, SECTIONS, SIDES, WITH_MASKS, byte_images, small
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


NAMES = [f"class {index}" for index in range(CLASSES)]
ARGUMENTS = ["my_detector.py", "--checkpoint", "epoch_3.pth", "--image", "0.png", "1.png", "--work-dir", "work"]


def trained(folder: Path, name: str = "retinanet") -> Any:
    """A detector, of which the folder has config, checkpoint and images."""
    detector = small(name)
    checkpoint = {"state_dict": detector.model.state_dict(), "meta": {"dataset_meta": {"classes": NAMES}}}
    torch.save(checkpoint, folder / "epoch_3.pth")
    content = {"default_scope": "mmdet", "model": {**SECTIONS, **WITH_MASKS}[name](), "test_pipeline": PIPELINE}
    write(folder, content, "my_detector.py")
    for number, image in enumerate(byte_images(2)):
        cv2.imwrite(str(folder / f"{number}.png"), image.permute(1, 2, 0).numpy()[:, :, ::-1])
    return detector


def manifest_of(folder: Path) -> tuple[Path, dict[str, Any]]:
    """Of the one deployment under a folder, which is proved."""
    (path,) = folder.rglob("deployment.json")
    content = json.loads(path.read_text())
    assert content["parity"]["verdict"] == "passed"
    return path, content


@pytest.mark.parametrize(
    ("name", "level", "outputs"),
    [
        ("retinanet", "decoded", ["boxes", "scores"]),
        ("retinanet", "raw", ["cls_scores", "bbox_preds"]),
        ("mask_rcnn", "decoded", ["boxes", "scores"]),
        ("cascade_rcnn", "raw", ["proposals", "cls_scores", "bbox_preds"]),
    ],
)
def test_a_level_before_the_nms(
    name: str,
    level: str,
    outputs: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    trained(tmp_path, name)
    code = run_verb(["deploy", *ARGUMENTS, "--exporter", "torchscript", "--output-level", level])
    assert code == 0, capsys.readouterr().err
    _, content = manifest_of(Path("work"))
    assert [output["name"] for output in content["outputs"]] == outputs


def test_a_config_of_mmdetection_becomes_a_proved_deployment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    detector = trained(tmp_path)
    code = run_verb(["deploy", *ARGUMENTS, "--exporter", "torchscript"])
    assert code == 0, capsys.readouterr().err
    manifest, content = manifest_of(Path("work"))
    assert [info["name"] for info in content["classes"]] == NAMES
    assert content["versions"].get("mmcv._ext") == (MISSING if is_stand_in() else None)
    assert "mmengine" in content["versions"]
    result = load(manifest.parent)(cv2.imread("0.png"))
    expected = detector(byte_images(1) / 255)[0]
    assert len(result) == len(expected["scores"]) >= 3
    assert abs(result.scores - expected["scores"].numpy()).max() < 5e-4
