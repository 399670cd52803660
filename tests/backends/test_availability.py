"""Which backends there are, and what is said of the others."""

import importlib.util
import sys
from typing import Any

import pytest

from backends import available
from backends.availability import require
from zoo.errors import BackendUnavailableError, InputError


def test_every_backend_has_an_answer() -> None:
    answers = available()
    assert {"onnxruntime", "pytorch", "tensorrt", "tensorrt-rtx"} <= set(answers)
    assert list(answers) == sorted(answers)
    assert answers["onnxruntime"] is None
    for name, module in (("tensorrt", "tensorrt"), ("tensorrt-rtx", "tensorrt_rtx")):
        assert (answers[name] is None) == (importlib.util.find_spec(module) is not None)


def test_a_missing_library_is_named_with_its_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr(importlib.util, "find_spec", refuse)
    answers = available()
    assert answers["onnxruntime"] == "onnxruntime is not installed; pip install onnxruntime"
    assert answers["pytorch"] == 'torch is not installed; pip install "zooport[export]"'
    assert answers["tensorrt"] == 'tensorrt is not installed; pip install "zooport[tensorrt]"'
    assert answers["tensorrt-rtx"] == 'tensorrt_rtx is not installed; pip install "zooport[tensorrt-rtx]"'
    with pytest.raises(BackendUnavailableError, match=r"backend onnxruntime is not available: .*available here: none"):
        require("onnxruntime")


def test_unknown_and_missing_backends(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match='unknown backend "tensorrtx"; nearest: "tensorrt", "tensorrt-rtx"'):
        require("tensorrtx")
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    words = r"backend tensorrt-rtx is not available: tensorrt_rtx is not installed; pip install .*here: none"
    with pytest.raises(BackendUnavailableError, match=words) as caught:
        require("tensorrt-rtx")
    assert caught.value.exit_code == 4


def test_looking_does_not_import(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tensorrt_rtx", raising=False)
    available()
    assert "tensorrt_rtx" not in sys.modules
