"""Configs of timm's own models build them, with their weights, classes and preprocessing."""

import json
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


def test_names_of_a_folder_that_do_not_fit_are_the_folders(tmp_path: Path) -> None:
    names = {"label_names": ["cat", "dog"]}
    timm.models.save_for_hf(timm.create_model(NAME, num_classes=3), tmp_path / "pets", model_config=names)
    with pytest.raises(InputError, match="pets: label_names: got 2 names, .* has 3 classes; with --classes give 3 nam"):
        init(str(tmp_path / "pets"), tmp_path)


@pytest.mark.parametrize("size", [None, (64, 96)])
def test_a_folder_that_does_not_say_its_preprocessing(size: tuple[int, int] | None, tmp_path: Path) -> None:
    """timm's defaults stand for it, and the config says so."""
    folder = tmp_path / "pets"
    timm.models.save_for_hf(timm.create_model(NAME, num_classes=3), folder)
    settings = json.loads((folder / "config.json").read_text())
    del settings["pretrained_cfg"]
    (folder / "config.json").write_text(json.dumps(settings))
    written = init(str(folder), tmp_path, size=size)
    fields = "interpolation, mean, std" if size else "input_size, interpolation, crop_pct, mean, std"
    assert f"{folder} does not say {fields}; timm's defaults stand for them." in " ".join(written.notes)
    assert load_config(written.path).preprocess.mean == timm.data.IMAGENET_DEFAULT_MEAN


def test_a_folder_of_an_earlier_version_has_the_fields_at_its_top(tmp_path: Path) -> None:
    folder = tmp_path / "pets"
    timm.models.save_for_hf(timm.create_model(NAME, num_classes=3), folder)
    settings = json.loads((folder / "config.json").read_text())
    settings |= settings.pop("pretrained_cfg") | {"mean": [0.5, 0.25, 0.5], "labels": ["cat", "dog", "fox"]}
    (folder / "config.json").write_text(json.dumps(settings))
    written = init(str(folder), tmp_path)
    assert load_config(written.path).preprocess.mean == (0.5, 0.25, 0.5)
    assert written.classes == ("cat", "dog", "fox")
    assert not any("defaults" in note for note in written.notes)


def test_an_unknown_tag(tmp_path: Path) -> None:
    torch.save({}, tmp_path / "w.pth")
    with pytest.raises(InputError, match=r"timm:resnet18.a9_in9k: timm has no such weights of this model; nearest: "):
        init("timm:resnet18.a9_in9k", tmp_path, weights=tmp_path / "w.pth")


def test_an_unknown_name(tmp_path: Path) -> None:
    (tmp_path / "pets.pth").touch()
    with pytest.raises(InputError, match='timm:resnet10tt: timm has no model of this name; nearest: "resnet10t"'):
        init("timm:resnet10tt", tmp_path, weights=tmp_path / "pets.pth")


def test_a_preprocessing_without_counterpart_needs_a_size(tmp_path: Path) -> None:
    folder = tmp_path / "pets"
    timm.models.save_for_hf(timm.create_model(NAME, num_classes=3), folder)
    settings = json.loads((folder / "config.json").read_text())
    settings["pretrained_cfg"] |= {"crop_mode": "border", "mean": [0.5, 0.25, 0.5]}
    (folder / "config.json").write_text(json.dumps(settings))
    with pytest.raises(InputError, match="crop_mode is 'border', .*; --size HEIGHT WIDTH writes a config for you to c"):
        init(str(folder), tmp_path)
    written = init(str(folder), tmp_path, size=(64, 96))
    preprocess = load_config(written.path).preprocess
    assert (preprocess.size, preprocess.resize, preprocess.mean) == ((64, 96), "stretch", (0.5, 0.25, 0.5))
    assert any("crop_mode is 'border'" in note and "Replace this" in note for note in written.notes)
