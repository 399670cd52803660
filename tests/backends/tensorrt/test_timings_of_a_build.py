"""What a build does with the timing cache. The library is a stand-in: the real one needs a GPU for it."""

import types
from pathlib import Path
from typing import Any

import pytest

from backends.tensorrt import building
from backends.tensorrt.build_request import BuildRequest
from backends.tensorrt.gpu import Gpu
from backends.tensorrt.timing_cache import merge_timings, read_timings, timing_cache_path
from zoo.engine_options import EngineOptions

TRT = types.SimpleNamespace(
    __name__="tensorrt", __version__="11.4.0", BuilderFlag=types.SimpleNamespace(DISABLE_TIMING_CACHE="off")
)
HERE = Gpu("NVIDIA L4", "8.9")


class Timings:
    """A timing cache that is a string of bytes."""

    def __init__(self, held: bytes) -> None:
        self.held = held

    def combine(self, others: Any, *, ignore_mismatch: bool) -> bool:
        assert not ignore_mismatch
        self.held += others.held
        return True

    def serialize(self) -> bytes:
        return self.held


class Config:
    """A builder's config that does not take the timings `refused`."""

    def __init__(self, refused: bytes = b"none") -> None:
        self.refused, self.taken, self.flags = refused, Timings(b""), list[str]()

    create_timing_cache = staticmethod(Timings)

    def set_timing_cache(self, cache: Timings, *, ignore_mismatch: bool) -> bool:
        self.taken = cache
        return cache.held != self.refused

    def get_timing_cache(self) -> Timings:
        return self.taken

    def set_flag(self, flag: str) -> None:
        self.flags.append(flag)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return timing_cache_path("tensorrt", "11.4.0", HERE.name)


def request(backend: str = "tensorrt", **options: bool) -> BuildRequest:
    made = EngineOptions(**options)  # type: ignore[arg-type]
    return BuildRequest(backend=backend, onnx="", plan="", answer="", parent=0, options=made, profiles=(), values={})


def test_it_starts_from_what_is_kept_and_adds_to_what_others_kept_meanwhile(path: Path) -> None:
    merge_timings(path, lambda _: b"old ")
    config = Config()
    assert building._timing_cache(request(), TRT, config, HERE) == path
    assert config.taken.held == b"old "
    config.taken.held = b"ours "
    merge_timings(path, lambda _: b"theirs")
    building._keep_timings(config, path)
    assert read_timings(path) == b"ours theirs"


def test_timings_that_the_library_does_not_take_are_set_aside(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    merge_timings(path, lambda _: b"foreign")
    config = Config(refused=b"foreign")
    assert building._timing_cache(request(), TRT, config, HERE) == path
    assert config.taken.held == b""
    assert "TensorRT does not take it; set aside" in caplog.text
    assert path.with_name(f"{path.name}.corrupt").exists()


def test_there_is_none_where_it_is_not_wanted_or_does_nothing(path: Path) -> None:
    config = Config()
    assert building._timing_cache(request(timing_cache=False), TRT, config, HERE) is None
    assert config.flags == ["off"]
    assert building._timing_cache(request("tensorrt-rtx"), TRT, Config(), HERE) is None
