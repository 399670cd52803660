"""What a build does with the timing cache. The library is a stand-in: the real one needs a GPU for it."""

import types
from pathlib import Path
from typing import Any

import pytest

from backends.engine_options import EngineOptions
from backends.gpu import Gpu
from backends.tensorrt.build_timings import keep_timings, use_timings
from backends.tensorrt.timing_cache import merge_timings, read_timings, timing_cache_path

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
    """A builder's config that does not take the timings `refused`; of `foreign` bytes it makes none, as TensorRT."""

    def __init__(self, refused: bytes = b"none") -> None:
        self.refused, self.taken, self.flags = refused, Timings(b""), list[str]()

    def create_timing_cache(self, held: bytes) -> Timings:
        return Timings(b"" if held == b"foreign" else held)

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


def use(config: "Config", backend: str = "tensorrt", **options: bool) -> Path | None:
    return use_timings(TRT, config, backend, EngineOptions(**options), HERE)  # type: ignore[arg-type]


def test_it_starts_from_what_is_kept_and_adds_to_what_others_kept_meanwhile(path: Path) -> None:
    merge_timings(path, lambda _: b"old ")
    config = Config()
    assert use(config) == path
    assert config.taken.held == b"old "
    config.taken.held = b"ours "
    merge_timings(path, lambda _: b"theirs")
    keep_timings(config, path)
    assert read_timings(path) == b"ours theirs"


@pytest.mark.parametrize("held", [b"foreign", b"of another GPU"])
def test_timings_that_the_library_does_not_take_are_set_aside(
    path: Path, caplog: pytest.LogCaptureFixture, held: bytes
) -> None:
    merge_timings(path, lambda _: held)
    config = Config(refused=b"of another GPU")
    assert use(config) == path
    assert config.taken.held == b""
    assert "TensorRT does not take it; set aside" in caplog.text
    assert path.with_name(f"{path.name}.corrupt").exists()


def test_there_is_none_where_it_is_not_wanted_or_does_nothing(path: Path) -> None:
    config = Config()
    assert use(config, timing_cache=False) is None
    assert config.flags == ["off"]
    assert use(Config(), "tensorrt-rtx") is None


@pytest.mark.parametrize("home", ["", "relative"])
def test_without_a_home_folder_there_is_none(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, home: str
) -> None:
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", home)
    assert use(Config()) is None
    assert "no folder for the cache: got HOME=" in caplog.text
    assert "building without it" in caplog.text


def test_a_library_that_takes_no_timings_at_all(path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert use(Config(refused=b"")) is None
    assert "TensorRT takes none; building without it" in caplog.text


@pytest.mark.parametrize("broken", ["get_timing_cache", "create_timing_cache"])
def test_a_fault_after_the_build_is_a_warning(path: Path, caplog: pytest.LogCaptureFixture, broken: str) -> None:
    merge_timings(path, lambda _: b"old")
    config = Config()
    setattr(config, broken, lambda *_: None)
    keep_timings(config, path)
    assert "later builds will measure again" in caplog.text
    assert read_timings(path) == b"old"


def test_timings_that_do_not_combine_are_replaced(
    path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    merge_timings(path, lambda _: b"old")
    monkeypatch.setattr(Timings, "combine", lambda *_, **__: False)
    config = Config()
    config.taken.held = b"ours"
    keep_timings(config, path)
    assert read_timings(path) == b"ours"
    assert "does not combine it; it is replaced" in caplog.text
