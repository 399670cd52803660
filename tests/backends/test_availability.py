"""Which backends there are, and what is said of the others."""

import importlib.util
from typing import Any

import pytest

from backends import available
from backends.availability import require
from zoo.errors import BackendUnavailableError, InputError


def test_every_backend_has_an_answer() -> None:
    answers = available()
    assert list(answers) == ["pytorch", "onnxruntime", "tensorrt", "tensorrt-rtx"]
    assert answers["onnxruntime"] is None
    for name in ("tensorrt", "tensorrt-rtx"):
        assert answers[name] == "this version of zooport does not have it yet; use backend onnxruntime"


def test_a_missing_library_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib.util, "find_spec", refuse)
    answers = available()
    assert answers["onnxruntime"] == "onnxruntime is not installed; pip install onnxruntime"
    assert answers["pytorch"] == 'torch is not installed; pip install "zooport[export]"'
    with pytest.raises(BackendUnavailableError, match=r"backend onnxruntime is not available: .*available here: none"):
        require("onnxruntime")


def test_unknown_and_unbuilt_backends() -> None:
    with pytest.raises(InputError, match='unknown backend "tensorrtx"; nearest: "tensorrt", "tensorrt-rtx"'):
        require("tensorrtx")
    with pytest.raises(BackendUnavailableError, match="backend tensorrt-rtx is not available: this version") as caught:
        require("tensorrt-rtx")
    assert caught.value.exit_code == 4
