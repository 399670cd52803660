import os
import threading
from pathlib import Path

import pytest

from zoo.files.writing import write_synced, write_whole


def full(_descriptor: int) -> None:
    raise OSError(28, "No space left on device")


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def test_bytes_text_and_views_are_written(tmp_path: Path) -> None:
    for content, expected in ((b"\x00\xff", b"\x00\xff"), ("é", b"\xc3\xa9"), (memoryview(b"plan"), b"plan")):
        write_whole(tmp_path / "file", content)
        assert (tmp_path / "file").read_bytes() == expected


def test_folders_are_made_where_that_is_asked_for(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        write_whole(tmp_path / "a" / "b" / "file", b"")
    write_whole(tmp_path / "a" / "b" / "file", b"1", make_folders=True)
    assert (tmp_path / "a" / "b" / "file").read_bytes() == b"1"


def test_a_write_that_fails_leaves_the_old_file_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_whole(path, b"old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        write_whole(path, b"new")
    assert path.read_bytes() == b"old"
    assert names(tmp_path) == ["file"]


def test_the_content_is_on_the_disk_before_it_takes_the_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    seen: list[bool] = []
    monkeypatch.setattr(os, "fsync", lambda _descriptor: seen.append(path.exists()))
    write_whole(path, b"new")
    assert seen == [False]
    assert path.read_bytes() == b"new"


def test_a_synced_file_is_brought_to_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sizes: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda descriptor: sizes.append(os.fstat(descriptor).st_size))
    write_synced(tmp_path / "file", b"1234")
    assert sizes == [4]


def test_of_writers_at_once_one_wins_as_a_whole(tmp_path: Path) -> None:
    contents = [bytes([index]) * 100_000 for index in range(8)]
    writers = [threading.Thread(target=write_whole, args=(tmp_path / "file", content)) for content in contents]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert (tmp_path / "file").read_bytes() in contents
    assert names(tmp_path) == ["file"]


def test_a_writer_of_the_same_number_does_not_disturb(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As of another container, on a folder that both have; here the thread itself writes while it is at it."""
    path = tmp_path / "file"
    replace = Path.replace

    def after_another_writer(staged: Path, target: Path) -> Path:
        monkeypatch.setattr(Path, "replace", replace)
        write_whole(path, "another's")
        return replace(staged, target)

    monkeypatch.setattr(Path, "replace", after_another_writer)
    write_whole(path, "ours")
    assert path.read_text() == "ours"
    assert names(tmp_path) == ["file"]
