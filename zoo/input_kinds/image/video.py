"""Videos, cameras and streams as images, by OpenCV."""

import math
import re
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.addresses import without_password
from zoo.errors import InputError
from zoo.input_kinds.recording import Recording
from zoo.printable import is_utf8

SUFFIXES = (".avi", ".gif", ".m4v", ".mjpeg", ".mkv", ".mov", ".mp4", ".mpeg", ".mpg", ".webm", ".wmv")
STREAMS = ("http", "https", "rtmp", "rtp", "rtsp", "srt", "tcp", "udp")
WAIT = 10_000  # milliseconds, for a stream to answer
SEEN = 0.95  # of the frames, or of the time, that a file claims to have: both are estimates in some formats
GIVE = "use a complete video, such as an MP4"


class Video(Recording):
    """Frames uint8 [h, w, 3] BGR. `source`: what OpenCV opens, the path of a file, a URL or a camera's number."""

    def __init__(self, source: str | int, label: str, name: str, *, live: bool) -> None:
        self.source, self.label, self.name, self.live = source, label, name, live
        self._rate: float | None = None

    @property
    def count(self) -> int | None:
        """What a file says; it is opened for that."""
        if self.live:
            return None
        try:
            with self._opened() as capture:
                return _claimed(capture)
        except InputError:
            return None

    @property
    def rate(self) -> float | None:
        """Frames a second."""
        return self._rate

    def frames(self, skip: Collection[int] = ()) -> Iterator[tuple[int, NDArray[Any]]]:
        """Turned upright by the file's orientation tag. Frames to skip are not decoded where the format allows it."""
        number = 0
        with self._opened() as capture:
            rate = capture.get(cv2.CAP_PROP_FPS)
            self._rate = rate if np.isfinite(rate) and rate > 0 else None
            place = 0.0
            while capture.grab():
                place = capture.get(cv2.CAP_PROP_POS_MSEC)
                if number not in skip:
                    good, pixels = capture.retrieve()
                    if not good:
                        break
                    yield number, pixels
                number += 1
            claimed = _claimed(capture)
        if isinstance(self.source, int):
            raise InputError(
                f"{self.label}: no frame after {number}; check the cable, and that no other program uses it"
            )
        if number == 0:
            what = "the stream gives no frame" if self.live else "no frame of the video can be read"
            raise InputError(f"{self.label}: {what}; {'check the address' if self.live else GIVE}")
        if claimed is not None and number < claimed * SEEN - 1 and place < SEEN * self._milliseconds(claimed):
            raise InputError(f"{self.label}: ends after {number} of {claimed} frames; {GIVE}")

    def _milliseconds(self, frames: int) -> float:
        """How long so many frames last; infinite where the rate is not known."""
        return math.inf if self._rate is None else 1000 * frames / self._rate

    @contextmanager
    def _opened(self) -> Iterator[Any]:
        """OpenCV's capture. Raises InputError."""
        if not is_utf8(str(self.source)):  # OpenCV would crash
            raise InputError(f"{self.label}: its name is not UTF-8, which OpenCV requires for videos; rename it")
        if isinstance(self.source, str) and not self.live and not Path(self.source).is_file():
            raise InputError(f"{self.label}: not a file; {GIVE}")  # to open a pipe would wait for its writer
        limits = [cv2.CAP_PROP_OPEN_TIMEOUT_MSEC, WAIT, cv2.CAP_PROP_READ_TIMEOUT_MSEC, WAIT]
        is_stream = self.live and isinstance(self.source, str)
        try:
            capture = cv2.VideoCapture(self.source, cv2.CAP_ANY, limits if is_stream else [])
        except cv2.error as error:
            raise InputError(f"{self.label}: OpenCV cannot open it ({error.err}); {GIVE}") from error
        try:
            if not capture.isOpened():
                raise InputError(f"{self.label}: {self._closed()}")
            yield capture
        finally:
            capture.release()

    def _closed(self) -> str:
        """Why it does not open, and what to do."""
        if isinstance(self.source, int):
            return "no camera with this number responds; connect one, or use another number"
        if self.live:
            return f"the stream does not answer within {WAIT // 1000} s, or OpenCV cannot read it; check the address"
        return f"not a video that OpenCV can read, or cut off at its end; {GIVE}"


def video_file(path: Path) -> Video | None:
    """A file with the suffix of a video."""
    if path.suffix.lower() not in SUFFIXES:
        return None
    return Video(str(path.absolute()), str(path), path.stem, live=False)  # absolute: no protocol of FFmpeg's begins so


def live(source: str) -> Video | None:
    """Of a camera's number or a stream's URL."""
    if re.fullmatch("[0-9]{1,3}", source):
        return Video(int(source), f"camera {int(source)}", f"camera-{int(source)}", live=True)
    scheme, separator, _ = source.partition("://")
    if separator and scheme.lower() in STREAMS:
        shown = without_password(source)
        return Video(source, shown, re.sub(r"[^A-Za-z0-9.]+", "-", shown).strip("-.") or "stream", live=True)
    return None


def _claimed(capture: Any) -> int | None:
    """How many frames a file says that it has."""
    count = capture.get(cv2.CAP_PROP_FRAME_COUNT)
    return int(count) if np.isfinite(count) and count > 0 else None
