"""Small videos, made by OpenCV."""

from pathlib import Path

import cv2
import numpy as np

SIZE = (48, 64)


def write_video(path: Path, frames: int = 10, rate: float = 5.0, codec: str = "MJPG") -> Path:
    """Frame i has the brightness 20 * i, of the first twelve."""
    writer = cv2.VideoWriter(str(path), cv2.VideoWriter_fourcc(*codec), rate, SIZE[::-1])
    assert writer.isOpened()
    for number in range(frames):
        writer.write(np.full((*SIZE, 3), min(20 * number, 255), np.uint8))
    writer.release()
    return path
