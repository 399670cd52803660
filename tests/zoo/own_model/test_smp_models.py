"""Configs of segmentation_models_pytorch's own models build them, with their weights."""

import json
from pathlib import Path

import pytest
import torch

from zoo.build import build_model
from zoo.config import load_config
from zoo.errors import InputError
from zoo.own_model import ModelRequest, WrittenConfig, write_config

pytestmark = pytest.mark.libraries
smp = pytest.importorskip("segmentation_models_pytorch", reason="the extra smp is not installed")


def init(source: str, out: Path, **options: object) -> WrittenConfig:
    return write_config(ModelRequest(source, out=out / "mine.py", size=(64, 96), **options))


def test_a_class_and_weights(tmp_path: Path) -> None:
    torch.save(smp.FPN("resnet18", encoder_weights=None, classes=4).state_dict(), tmp_path / "fpn.pth")
    written = init("smp:FPN", tmp_path, weights=tmp_path / "fpn.pth", arguments={"encoder": "resnet18"})
    config = load_config(written.path)
    assert config.model == {"type": "SmpSegmentor", "architecture": "FPN", "encoder": "resnet18", "num_classes": 4}
    assert [info.name for info in config.task.classes] == ["class_0", "class_1", "class_2", "class_3"]
    assert config.preprocess.mean == (0.485, 0.456, 0.406)
    assert any("write those of your training" in note for note in written.notes)


def test_a_folder_of_an_earlier_version(tmp_path: Path) -> None:
    model = smp.Unet("resnet18", encoder_weights=None, classes=2, decoder_use_norm=False)
    model.save_pretrained(tmp_path / "saved")
    path = tmp_path / "saved/config.json"
    saved = json.loads(path.read_text())
    del saved["decoder_use_norm"]
    path.write_text(json.dumps({**saved, "decoder_use_batchnorm": False}))
    written = init(str(tmp_path / "saved"), tmp_path)
    assert load_config(written.path).model["decoder_use_norm"] is False


def test_weights_that_timm_would_read_are_refused(tmp_path: Path) -> None:
    model = smp.Unet("tu-resnet18", encoder_weights=None, classes=2)
    model.save_pretrained(tmp_path / "saved")
    path = tmp_path / "saved/config.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "checkpoint_path": "x.bin"}))
    with pytest.raises(InputError, match="checkpoint_path: timm would read files of its own"):
        init(str(tmp_path / "saved"), tmp_path)


def test_a_folder_with_a_single_foreground(tmp_path: Path) -> None:
    model = smp.Unet("resnet18", encoder_weights=None, classes=1, decoder_attention_type="scse")
    model.save_pretrained(tmp_path / "saved")
    written = init(str(tmp_path / "saved"), tmp_path, classes=("crack",))
    config = load_config(written.path)
    assert config.model["decoder_attention_type"] == "scse"
    assert written.classes == ("background", "crack")
    assert config.checkpoint == "saved/model.safetensors"
    state = build_model(config).state_dict()
    assert all(torch.equal(state[name], tensor) for name, tensor in model.state_dict().items())
