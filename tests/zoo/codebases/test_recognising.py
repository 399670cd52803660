"""Whose config a file is."""

from pathlib import Path
from typing import Any

import pytest

from tests.zoo.codebases.small_configs import MODEL, config_content, write
from zoo.codebases import codebase_of
from zoo.config import load_config, read_config
from zoo.errors import InputError
from zoo.listing import list_models

PLAIN = {key: value for key, value in MODEL.items() if key != "data_preprocessor"}


@pytest.mark.parametrize(
    "content",
    [
        config_content(PLAIN),
        {"model": {**PLAIN, "type": "mmseg.EncoderDecoder"}},
        {"model": {**PLAIN, "type": "mmseg::EncoderDecoder"}},
        {"model": {**PLAIN, "type": "mmseg.models.segmentors.EncoderDecoder"}},  # of a config in the newer form
        {"model": {**PLAIN, "_scope_": "mmseg"}},
        {"model": MODEL},
        {"model": PLAIN, "data_preprocessor": {"type": "SegDataPreProcessor"}},
    ],
)
def test_mmsegs(content: dict[str, Any]) -> None:
    codebase = codebase_of(content, "my.py")
    assert codebase is not None
    assert codebase.scope == "mmseg"


@pytest.mark.parametrize("content", [{}, {"model": PLAIN}, {"model": {"type": "my_file.Net"}}, {"model": [1]}])
def test_others(content: dict[str, Any]) -> None:
    assert codebase_of(content, "my.py") is None


def test_no_shipped_config_is_one() -> None:
    for name in list_models():
        assert codebase_of(read_config(name).to_dict(), name) is None


def test_a_codebase_that_is_not_taken() -> None:
    with pytest.raises(InputError, match=r"my.py is a config of mmpose; zooport takes those of .*mmseg"):
        codebase_of({"default_scope": "mmpose", "model": PLAIN}, "my.py")


def test_a_verb_that_does_not_take_one_says_which_does(tmp_path: Path) -> None:
    path = write(tmp_path, config_content())
    with pytest.raises(InputError, match=f"config {path} is one of mmseg's: zooport deploy {path} --checkpoint FILE"):
        load_config(path)


def test_the_newer_form_of_configs_is_read_without_the_library(tmp_path: Path) -> None:
    (tmp_path / "base.py").write_text("from mmseg.models import EncoderDecoder\nmodel = dict(type=EncoderDecoder)\n")
    path = tmp_path / "my.py"
    path.write_text("from mmengine.config import read_base\nwith read_base():\n    from .base import *\n")
    content = read_config(path).to_dict()
    assert content["model"]["type"] == "mmseg.models.EncoderDecoder"
    assert codebase_of(content, "my.py") is not None
