"""The source of a config: what mmengine reads of it is what was written, whatever stands in it."""

import re
from pathlib import Path
from typing import Any

import pytest

from zoo.config.reading import read_config
from zoo.config.source import config_source
from zoo.errors import InputError

TEXTS = [
    "{{$A_SECRET:x}}",
    "{{ $A_SECRET : }}",
    "{{'$A_SECRET:x'}}",
    "{{ fileDirname }}",
    "{{_base_.a}}",
    "{{{{{$A_SECRET:x}}}}}",
    "\\{{$A_SECRET:x}}\\",
    "{{$A_SECRET:x}}\n",
    'a"); import os; ("',
]


@pytest.mark.parametrize("text", TEXTS)
def test_no_template_is_filled_in(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("A_SECRET", 'secret")')
    content = {"task": {"classes": [{"name": text}], text: (text, 1)}}
    source = config_source(text, [text], content, {"task": text})
    assert "{{" not in source
    (tmp_path / "config.py").write_text(source)
    config = read_config(tmp_path / "config.py")
    assert config.to_dict() == content
    assert "secret" not in config.text


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"_delete_": True, "a": object()}])
def test_what_a_config_cannot_hold_is_refused(value: Any) -> None:
    with pytest.raises(InputError, match="a config cannot hold ") as raised:
        config_source("a", (), {"model": {"a": value}})
    assert "\n" not in str(raised.value)


def test_it_is_read_back_to_be_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if mmengine had a template that is not known here."""
    monkeypatch.setattr("zoo.config.source.TEMPLATE", re.compile("unknown"))
    monkeypatch.setenv("A_SECRET", "secret")
    with pytest.raises(InputError, match="a config cannot hold model .*: another value is read") as raised:
        config_source("a", (), {"model": {"a": "{{$A_SECRET:x}}"}})
    assert "secret" not in str(raised.value)
