"""`zooport init smp:NAME`, and a folder of the library: what is wrong is known without it."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from zoo.errors import InputError
from zoo.own_model import ModelRequest, write_config

SAVED = {
    "_model_class": "Unet",
    "encoder_name": "resnet18",
    "classes": 3,
    "in_channels": 3,
    "encoder_weights": "imagenet",
}


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "saved").mkdir()
    (tmp_path / "saved/config.json").write_text(json.dumps(SAVED))
    (tmp_path / "weights.pth").touch()
    return tmp_path


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("source", "options", "message"),
    [
        ("smp:Unet", {"weights": Path("weights.pth")}, "smp:Unet: no encoder; give --arg encoder=NAME"),
        ("smp:Unet", {}, "smp:Unet: no weights; give --weights FILE"),
        (
            "smp:Unet",
            {"weights": Path("weights.pth"), "arguments": {"encoder_name": "resnet18"}},
            "smp:Unet: no size; give --size HEIGHT WIDTH",
        ),
        ("saved", {}, "saved: no model.safetensors or pytorch_model.bin; give --weights FILE"),
        ("saved", {"task": "Detection"}, "--task with saved: smp:NAME does not take it"),
        ("elsewhere", {}, "source elsewhere: no such file or folder; give one of"),
    ],
)
def test_faults(source: str, options: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=message):
        write_config(ModelRequest(source, **options))


@pytest.mark.parametrize("name", ["model.safetensors.index.json", "pytorch_model.bin.index.json"])
def test_weights_in_several_files(name: str, folder: Path) -> None:
    (folder / "saved" / name).write_text("{}")
    with pytest.raises(InputError, match='the weights are in several files; save them in one with .*max_shard_size="'):
        write_config(ModelRequest("saved"))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "config.json: not a JSON file .*; give the folder that model.save_pretrained"),
        ("[]", "config.json: got a JSON list, expected an object"),
        ('{"a": 1}', r'config.json has none of the keys .*"_model_class".*; give the folder that model.save_'),
    ],
)
def test_other_folders(text: str, message: str, folder: Path) -> None:
    (folder / "saved/config.json").write_text(text)
    with pytest.raises(InputError, match=message):
        write_config(ModelRequest("saved"))


def test_a_folder_without_a_config(folder: Path) -> None:
    with pytest.raises(InputError, match=r"source \.: no config.json in it; give the folder that"):
        write_config(ModelRequest("."))


def test_a_folder_of_the_hubs_cache_names_the_one_that_has_the_config(folder: Path) -> None:
    shutil.copytree("saved", "models--me--unet/snapshots/0123abc")
    with pytest.raises(InputError, match="no config.json in it; give models--me--unet/snapshots/0123abc$"):
        write_config(ModelRequest("models--me--unet"))


def test_images_of_other_channels(folder: Path) -> None:
    (folder / "saved/config.json").write_text(json.dumps({**SAVED, "in_channels": 4}))
    (folder / "saved/model.safetensors").touch()
    with pytest.raises(InputError, match='config.json: "in_channels" is 4, expected 3: deployments take RGB images'):
        write_config(ModelRequest("saved", size=(64, 64)))


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"classes": "3"}, 'saved/config.json: "classes" is "3", expected an integer'),
        ({"classes": 0}, "num_classes is 0, expected an integer, 1 or more"),
        ({"encoder_name": 5}, 'saved/config.json: "encoder_name" is 5, expected a string'),
        ({"in_channels": "3"}, 'saved/config.json: "in_channels" is "3", expected an integer'),
        ({"_model_class": ["Unet"]}, r'saved/config.json: "_model_class" is \["Unet"\], expected a string'),
    ],
)
def test_fields_of_another_kind(field: dict[str, Any], message: str, folder: Path) -> None:
    (folder / "saved/config.json").write_text(json.dumps({**SAVED, **field}))
    (folder / "saved/model.safetensors").touch()
    with pytest.raises(InputError, match=message):
        write_config(ModelRequest("saved", size=(64, 64)))


@pytest.mark.parametrize(
    "argument",
    [
        {"aux_params": {"type": "package.module.Class"}},
        {"type": "package.module.Class"},
        {"decoder": [{"_delete_": True}]},
        {"x=print(), y": 1},
        {"class": 1},
    ],
)
def test_a_key_that_a_config_reads_as_code_is_refused(argument: dict[str, Any], folder: Path) -> None:
    """The file comes from elsewhere; a config is Python, and a type in it is imported."""
    (folder / "saved/config.json").write_text(json.dumps(SAVED | argument))
    (folder / "saved/model.safetensors").touch()
    with pytest.raises(InputError, match=r"config\.json.*: \".*\" is not the name of an argument"):
        write_config(ModelRequest("saved", size=(64, 64)))
    assert not (folder / "saved.py").exists()
