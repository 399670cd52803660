"""A library that is not there, or too old, is a clear line."""

import sys
import types
from importlib.abc import MetaPathFinder
from pathlib import Path

import pytest

from backends.availability import available
from backends.engine_options import EngineOptions
from backends.tensorrt.build import build_engine
from backends.tensorrt.library import library, version_numbers
from tests.backends.tensorrt.graphs import AXES, IMAGES, convolution
from zoo.errors import BackendUnavailableError

BLOCKER = """
import sys
class Refuse:
    def find_spec(self, name, path=None, target=None):
        if name == "tensorrt_rtx":
            raise ModuleNotFoundError("No module named 'tensorrt_rtx'", name=name)
sys.meta_path.insert(0, Refuse())
"""


class Broken(MetaPathFinder):
    """An import that ends in `error`."""

    def __init__(self, error: Exception) -> None:
        self.error = error

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name in {"tensorrt", "tensorrt_rtx"}:
            raise self.error


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (
            ModuleNotFoundError("no", name="tensorrt_rtx"),
            'tensorrt-rtx is not available: tensorrt_rtx is not installed; pip install "zooport[tensorrt-rtx]"',
        ),
        (ModuleNotFoundError("no", name="tensorrt_rtx_libs"), "tensorrt_rtx lacks tensorrt_rtx_libs"),
        (
            OSError("libnvinfer.so.11:\n  no such file"),
            "tensorrt_rtx is installed, but cannot be imported (libnvinfer.so.11: no such file); install it again: ",
        ),
        (AttributeError("partially initialized"), "cannot be imported (partially initialized); install it again"),
    ],
)
def test_a_library_that_is_missing_or_broken(monkeypatch: pytest.MonkeyPatch, error: Exception, message: str) -> None:
    monkeypatch.delitem(sys.modules, "tensorrt_rtx", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(error), *sys.meta_path])
    with pytest.raises(BackendUnavailableError) as raised:
        library("tensorrt-rtx")
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("backend", "version", "good"),
    [
        ("tensorrt", "10.11.0.33", False),
        ("tensorrt", "10.12.0.36", True),
        ("tensorrt", "11.4.0.106", True),
        ("tensorrt-rtx", "1.3.0.35", False),
        ("tensorrt-rtx", "1.7.1.116", True),
    ],
)
def test_versions(monkeypatch: pytest.MonkeyPatch, backend: str, version: str, good: bool) -> None:
    module = types.ModuleType(backend.replace("-", "_"))
    module.__version__ = version  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, module.__name__, module)
    if good:
        assert library(backend) is module
    else:
        with pytest.raises(BackendUnavailableError, match=rf"got {module.__name__} {version}, expected 1.* or later"):
            library(backend)


def test_a_build_without_the_library_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The process of the build meets the blocker: sitecustomize is imported at its start."""
    (tmp_path / "sitecustomize.py").write_text(BLOCKER)
    monkeypatch.syspath_prepend(tmp_path)
    onnx = convolution(tmp_path / "model.onnx")
    with pytest.raises(BackendUnavailableError, match='not installed; pip install "zooport.tensorrt-rtx."'):
        build_engine(onnx, tmp_path / "model.engine", "tensorrt-rtx", EngineOptions(), [IMAGES], AXES, precision="fp32")
    assert not [path for path in tmp_path.iterdir() if "engine" in path.name]


def test_what_is_missing_is_reported_with_one_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "tensorrt", raising=False)
    monkeypatch.setattr(sys, "meta_path", [Broken(ModuleNotFoundError("no", name="tensorrt")), *sys.meta_path])
    with pytest.raises(BackendUnavailableError) as raised:
        library("tensorrt")
    assert str(raised.value) == f"backend tensorrt is not available: {available()['tensorrt']}"


def test_numbers_of_a_version() -> None:
    assert version_numbers("10.12.0.36") < version_numbers("11.4.0") < version_numbers("11.10")
