"""A folder of timm: what is wrong in its config.json is known without the library."""

import json
from pathlib import Path
from typing import Any

import pytest

from zoo.errors import InputError
from zoo.own_model import ModelRequest, write_config


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"num_classes": "3"}, '"num_classes" is "3", expected an integer; correct it'),
        ({"num_classes": True}, '"num_classes" is true, expected an integer; correct it'),
        ({"pretrained_cfg": [1]}, r'"pretrained_cfg" is \[1\], expected an object; correct it'),
        ({"model_args": [1]}, r'"model_args" is \[1\], expected an object; correct it'),
        ({"label_names": "abc"}, '"label_names" is "abc", expected a list; correct it'),
        ({"pretrained_cfg": {"labels": "abc"}}, 'pretrained_cfg: "labels" is "abc", expected a list; correct it'),
    ],
)
def test_fields_of_another_kind(
    field: dict[str, Any], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("saved").mkdir()
    Path("saved/config.json").write_text(json.dumps({"architecture": "resnet18", "num_classes": 3, **field}))
    Path("saved/model.safetensors").touch()
    with pytest.raises(InputError, match=f"saved/config.json: {message}"):
        write_config(ModelRequest("saved"))
