"""An annotated video."""

from pathlib import Path
from typing import Any

import cv2
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.files.writing import staged_place
from zoo.printable import is_utf8

CODEC = "mp4v"  # what OpenCV's own builds can write everywhere
SUFFIX = ".mp4"
USUAL_RATE = 25.0  # where a recording says none
RATES = (0.1, 1000.0)
"""Of recordings. Streams often give the ticks of their clock instead, 90000 a second, and MPEG-4 cannot say that."""

MOST_TICKS = 65_535  # of MPEG-4's clock in a second
LONGEST_SIDE = 8190  # of MPEG-4, even


class DrawnVideo:
    """Written beside its place, and moved there when it is whole."""

    def __init__(self, path: Path, rate: float | None) -> None:
        if not is_utf8(str(path)):  # OpenCV would crash
            raise InputError(f"{path}: its name is not UTF-8, which OpenCV requires for videos; use another folder")
        self.path = path
        self._rate = _said(USUAL_RATE if rate is None or not RATES[0] <= rate <= RATES[1] else rate)
        self._place = staged_place(path)
        self._writer: Any = None
        self._size = (0, 0)
        self._frames = 0

    def add(self, drawn: NDArray[Any]) -> None:
        """A frame uint8 [h, w, 3] BGR. Raises OSError.

        It is resized where it has another size than the first, or a side that MPEG-4 does not take.
        """
        if self._writer is None:
            height, width = drawn.shape[:2]
            part = min(1.0, LONGEST_SIDE / max(height, width))
            self._size = width, height = max(1, round(part * width)), max(1, round(part * height))
            self._writer = cv2.VideoWriter(str(self._place), cv2.VideoWriter.fourcc(*CODEC), self._rate, self._size)
            if not self._writer.isOpened():
                raise OSError(f"{self.path}: OpenCV cannot write this video ({CODEC}, {width}x{height})")
        if drawn.shape[1::-1] != self._size:
            shrinks = drawn.shape[1] > self._size[0]
            drawn = cv2.resize(drawn, self._size, interpolation=cv2.INTER_AREA if shrinks else cv2.INTER_LINEAR)
        self._writer.write(drawn)
        self._frames += 1

    def finish(self) -> None:
        """Move it to its place. Raises OSError where frames are missing: OpenCV says nothing of a full disk."""
        self._writer.release()
        whole = cv2.VideoCapture(str(self._place))
        count = whole.get(cv2.CAP_PROP_FRAME_COUNT)
        whole.release()
        if count != self._frames:
            self._place.unlink(missing_ok=True)
            raise OSError(f"{self.path}: {count:.0f} of {self._frames} frames were written; is the disk full?")
        self._place.replace(self.path)

    def discard(self) -> None:
        """Leave nothing behind."""
        if self._writer is not None:
            self._writer.release()
        self._place.unlink(missing_ok=True)


def _said(rate: float) -> float:
    """The nearest rate that MPEG-4's clock can say: OpenCV writes 120.893 as 120893 ticks in a second."""
    for digits in (3, 2, 1):
        if round(rate, digits) * 10**digits <= MOST_TICKS:
            return round(rate, digits)
    return float(round(rate))
