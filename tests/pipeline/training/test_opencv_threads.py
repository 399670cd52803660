"""Data loaders that fork after OpenCV has used its threads."""

import subprocess
import sys
from pathlib import Path

import cv2
import pytest

from pipeline.training.opencv_threads import one_opencv_thread

FORKED = """
import os, sys
import cv2, numpy as np
from pipeline.training.opencv_threads import one_opencv_thread

def use_opencv():
    cv2.GaussianBlur(np.zeros((2000, 2000, 3), np.uint8), (31, 31), 0)

cv2.setNumThreads(4)
use_opencv()  # starts the threads
with one_opencv_thread():
    child = os.fork()
    if child == 0:
        cv2.setNumThreads(1)
        use_opencv()
        os._exit(7)
    sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


@pytest.mark.slow
def test_a_forked_worker_can_use_opencv() -> None:
    root = Path(__file__).resolve().parents[3]
    done = subprocess.run([sys.executable, "-c", FORKED], cwd=root, check=False)
    assert done.returncode == 7


def test_the_threads_come_back() -> None:
    before = cv2.getNumThreads()
    with one_opencv_thread():
        assert cv2.getNumThreads() == 1
    assert cv2.getNumThreads() == before
