"""The file of kernel timings: whole or set aside, merged by builds that end together."""

import logging
import threading
from pathlib import Path

import pytest

from backends.tensorrt.timing_cache import merge_timings, read_timings, timing_cache_path


def test_the_place_tells_gpu_and_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    path = timing_cache_path("tensorrt", "11.4.0.106", "NVIDIA GeForce RTX 4090/x")
    assert path == tmp_path / "zooport/timing/tensorrt-11.4.0.106/NVIDIA-GeForce-RTX-4090-x.cache"


def test_what_was_merged_is_read_again(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "new" / "gpu.cache"
    assert read_timings(path) == b""
    merge_timings(path, lambda on_disk: on_disk + b"one")
    merge_timings(path, lambda on_disk: on_disk + b" two")
    assert read_timings(path) == b"one two"
    assert not caplog.records


@pytest.mark.parametrize("damage", ["cut", "flipped", "foreign", "empty"])
def test_a_corrupt_file_is_set_aside_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    path = tmp_path / "gpu.cache"
    merge_timings(path, lambda _: b"measured" * 20)
    whole = path.read_bytes()
    broken = {
        "cut": whole[:-1],
        "flipped": whole[:-1] + bytes([whole[-1] ^ 1]),
        "foreign": b"something else",
        "empty": b"",
    }[damage]
    path.write_bytes(broken)
    with caplog.at_level(logging.WARNING):
        assert read_timings(path) == b""
    assert "the file is corrupt; set aside as gpu.cache.corrupt, and a new one is started" in caplog.text
    assert not path.exists()
    assert (tmp_path / "gpu.cache.corrupt").read_bytes() == broken
    merge_timings(path, lambda on_disk: on_disk + b"again")
    assert read_timings(path) == b"again"


def test_builds_that_end_together_lose_nothing(tmp_path: Path) -> None:
    path = tmp_path / "gpu.cache"
    builds = [
        threading.Thread(target=merge_timings, args=(path, lambda on_disk, one=bytes([index]): on_disk + one))
        for index in range(16)
    ]
    for build in builds:
        build.start()
    for build in builds:
        build.join()
    assert sorted(read_timings(path)) == list(range(16))
    assert {each.name for each in tmp_path.iterdir()} == {"gpu.cache", "gpu.cache.lock"}


def test_a_failed_merge_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "gpu.cache"
    merge_timings(path, lambda _: b"old")

    def fail(on_disk: bytes) -> bytes:
        raise MemoryError

    with pytest.raises(MemoryError):
        merge_timings(path, fail)
    assert read_timings(path) == b"old"


def test_a_folder_that_cannot_be_written_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "file").touch()
    merge_timings(tmp_path / "file" / "gpu.cache", lambda on_disk: on_disk + b"x")
    assert "cannot be written (File exists); later builds will measure again" in caplog.text


def test_others_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "gpu.cache"
    (tmp_path / "any").touch()
    merge_timings(path, lambda _: b"x")
    assert path.stat().st_mode == (tmp_path / "any").stat().st_mode
