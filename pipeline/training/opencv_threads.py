"""OpenCV beside data loaders that fork."""

from collections.abc import Iterator
from contextlib import contextmanager

import cv2


@contextmanager
def one_opencv_thread() -> Iterator[None]:
    """While it lasts OpenCV works in the calling thread alone, also in the workers that are forked meanwhile.

    Its pool of threads does not survive a fork: a worker that changes or uses the pool that it has inherited waits for
    ever. And a worker has one core to itself.
    """
    before = cv2.getNumThreads()
    cv2.setNumThreads(1)
    try:
        yield
    finally:
        cv2.setNumThreads(before)
