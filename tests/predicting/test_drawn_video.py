"""An annotated video is whole, or it is not there."""

from pathlib import Path

import cv2
import numpy as np
import pytest

from zoo.errors import InputError
from zoo.tables.drawn_video import DrawnVideo


def frame(height: int = 48, width: int = 64) -> np.ndarray:
    return np.full((height, width, 3), 90, np.uint8)


def test_frames_of_another_size_fit_the_first(tmp_path: Path) -> None:
    video = DrawnVideo(tmp_path / "a.mp4", None)
    for drawn in (frame(), frame(96, 128), frame()):
        video.add(drawn)
    video.finish()
    capture = cv2.VideoCapture(str(tmp_path / "a.mp4"))
    assert [capture.read()[1].shape for _ in range(3)] == [(48, 64, 3)] * 3
    assert capture.get(cv2.CAP_PROP_FPS) == 25
    capture.release()


def test_sides_that_mpeg_4_does_not_take_are_made_smaller(tmp_path: Path) -> None:
    video = DrawnVideo(tmp_path / "a.mp4", None)
    video.add(frame(40, 8200))
    video.finish()
    capture = cv2.VideoCapture(str(tmp_path / "a.mp4"))
    assert capture.read()[1].shape == (40, 8190, 3)
    capture.release()


@pytest.mark.parametrize(
    ("rate", "written"), [(12.5, 12.5), (120.893, 120.89), (1000.0, 1000.0), (90_000.0, 25.0), (1e-3, 25.0)]
)
def test_ticks_of_a_streams_clock_are_no_rate(rate: float, written: float, tmp_path: Path) -> None:
    video = DrawnVideo(tmp_path / "a.mp4", rate)
    video.add(frame())
    video.add(frame())
    video.finish()
    capture = cv2.VideoCapture(str(tmp_path / "a.mp4"))
    assert capture.get(cv2.CAP_PROP_FPS) == pytest.approx(written)
    capture.release()


def test_frames_that_did_not_reach_the_disk_are_an_error(tmp_path: Path) -> None:
    video = DrawnVideo(tmp_path / "a.mp4", 5)
    video.add(frame())
    video._frames += 2  # OpenCV says nothing of frames that it cannot write
    with pytest.raises(OSError, match=r"a\.mp4: 1 of 3 frames were written; is the disk full"):
        video.finish()
    assert not list(tmp_path.iterdir())


def test_what_is_discarded_leaves_nothing(tmp_path: Path) -> None:
    DrawnVideo(tmp_path / "a.mp4", 5).discard()
    video = DrawnVideo(tmp_path / "a.mp4", 5)
    video.add(frame())
    video.discard()
    assert not list(tmp_path.iterdir())


def test_a_folder_that_opencv_cannot_name(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="its name is not UTF-8"):
        DrawnVideo(tmp_path / "\udcff.mp4", 5)


def test_a_folder_that_is_gone(tmp_path: Path) -> None:
    video = DrawnVideo(tmp_path / "none" / "a.mp4", 5)
    with pytest.raises(OSError, match="OpenCV cannot write this video"):
        video.add(frame())
    video.discard()
