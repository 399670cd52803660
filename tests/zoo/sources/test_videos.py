"""Frames of videos; what is cut, empty, or not there."""

import os
from pathlib import Path

import pytest

from tests.zoo.sources.videos import SIZE, write_video
from zoo.errors import InputError
from zoo.input_kinds import input_kind
from zoo.input_kinds.recording import Recording
from zoo.sources import find_sources, list_items

IMAGE = input_kind("image")


def recording(path: Path | str) -> Recording:
    made = IMAGE.recording(Path(path))
    assert made is not None
    return made


@pytest.mark.parametrize(("suffix", "codec"), [(".avi", "MJPG"), (".mp4", "mp4v")])
def test_frames_in_order(tmp_path: Path, suffix: str, codec: str) -> None:
    video = recording(write_video(tmp_path / f"a{suffix}", codec=codec))
    frames = dict(video.frames())
    assert list(frames) == list(range(10))
    assert all(frame.shape == (*SIZE, 3) for frame in frames.values())
    assert [round(float(frame.mean()) / 20) for frame in frames.values()] == list(range(10))
    assert (video.count, video.rate, video.live) == (10, 5.0, False)
    assert [number for number, _ in video.frames({0, 1, 5})] == [2, 3, 4, 6, 7, 8, 9]


def test_a_video_without_frames(tmp_path: Path) -> None:
    for content in (b"", b"no video at all" * 100):
        (tmp_path / "a.mp4").write_bytes(content)
        with pytest.raises(InputError, match=r"a\.mp4: not a video that OpenCV can read, or cut off at its end; use"):
            list(recording(tmp_path / "a.mp4").frames())
        assert recording(tmp_path / "a.mp4").count is None
    write_video(tmp_path / "b.avi", frames=0)
    with pytest.raises(InputError, match=r"b\.avi: (not a video|no frame of the video)"):
        list(recording(tmp_path / "b.avi").frames())


@pytest.mark.parametrize(("suffix", "codec"), [(".avi", "MJPG"), (".mp4", "mp4v")])
def test_a_video_cut_in_half_gives_what_it_has_and_a_fault(tmp_path: Path, suffix: str, codec: str) -> None:
    path = write_video(tmp_path / f"a{suffix}", frames=60, codec=codec)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    items = list(list_items(find_sources(path, IMAGE)))
    assert items[-1].fault is not None
    assert items[-1].frame is None
    assert all(item.fault is None for item in items[:-1])
    if suffix == ".avi":  # its frames stand before its index
        assert 10 < len(items) < 60
        assert f"ends after {len(items) - 1} of 60 frames" in items[-1].fault


def test_a_camera_that_is_not_there_is_an_error() -> None:
    with pytest.raises(InputError, match="^camera 987: no camera with this number responds; connect one, or"):
        list(list_items(find_sources(987, IMAGE)))


def test_a_stream_that_does_not_answer_shows_no_password() -> None:
    with pytest.raises(InputError, match=r"^tcp://127\.0\.0\.1:9/a: the stream does not answer") as raised:
        list(list_items(find_sources("tcp://me:secret@127.0.0.1:9/a", IMAGE)))
    assert "secret" not in str(raised.value)


def test_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.mp4")
    with pytest.raises(InputError, match=r"a\.mp4: not a file"):
        list(recording(tmp_path / "a.mp4").frames())
    assert recording(tmp_path / "a.mp4").count is None


def test_a_name_that_is_no_utf8(tmp_path: Path) -> None:
    path = tmp_path / "\udcff.avi"
    path.write_bytes(b"")
    with pytest.raises(InputError, match="its name is not UTF-8"):
        list(recording(path).frames())
