"""Configs of timm's own models build them, with their weights, classes and preprocessing."""

from pathlib import Path
from typing import Any

import pytest
import torch

from zoo.build import build_model
from zoo.config import load_config
from zoo.errors import InputError
from zoo.own_model import ModelRequest, WrittenConfig, write_config

pytestmark = pytest.mark.libraries
timm = pytest.importorskip("timm", reason="the extra timm is not installed")
NAME = "resnet10t"


def init(source: str, out: Path, **options: Any) -> WrittenConfig:
    return write_config(ModelRequest(source, out=out / "mine.py", **options))


def test_a_name_and_weights(tmp_path: Path) -> None:
    torch.save(timm.create_model(NAME, num_classes=3).state_dict(), tmp_path / "pets.pth")
    written = init(f"timm:{NAME}", tmp_path, weights=tmp_path / "pets.pth", classes=("cat", "dog", "fox"))
    config = load_config(written.path)
    assert config.model == {"type": "TimmClassifier", "architecture": NAME, "num_classes": 3}
    data = timm.data.resolve_data_config(pretrained_cfg=timm.get_pretrained_cfg(NAME).to_dict())
    assert (config.preprocess.size, config.preprocess.mean) == (data["input_size"][1:], data["mean"])
    assert any("timm's pretrained weights of this name" in note for note in written.notes)


def test_a_folder(tmp_path: Path) -> None:
    model = timm.create_model(NAME, num_classes=3)
    timm.models.save_for_hf(model, tmp_path / "pets", model_config={"label_names": ["cat", "dog", "fox"]})
    written = init(str(tmp_path / "pets"), tmp_path, size=(64, 96))
    config = load_config(written.path)
    assert written.classes == ("cat", "dog", "fox")
    assert config.preprocess.size == (64, 96)
    state = build_model(config).state_dict()
    assert all(torch.equal(state[name], tensor) for name, tensor in model.state_dict().items())


def test_an_unknown_name(tmp_path: Path) -> None:
    (tmp_path / "pets.pth").touch()
    with pytest.raises(InputError, match='timm:resnet10tt: timm has no model of this name; nearest: "resnet10t"'):
        init("timm:resnet10tt", tmp_path, weights=tmp_path / "pets.pth")
