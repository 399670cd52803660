"""Clouds and their objects as files of KITTI's layout."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.kitti import Calibration, KittiObject, label_text

FOLDER = "training"


class KittiFrame(NamedTuple):
    """One cloud float32 [n, 4], its objects in the camera's frame, and the calibration of the camera.

    `name`: of its files, such as 000001.
    """

    name: str
    points: NDArray[np.float32]
    objects: tuple[KittiObject, ...]
    calibration: Calibration


def write_kitti(root: Path, split: str, frames: Iterable[KittiFrame]) -> Iterator[int]:
    """Write frames, and give the number of each, from 0, when it is on the disk; ImageSets/SPLIT.txt last."""
    names = []
    for kind in ("velodyne", "label_2", "calib"):
        (root / FOLDER / kind).mkdir(parents=True, exist_ok=True)
    for number, frame in enumerate(frames):
        name, folder = frame.name, root / FOLDER
        (folder / "velodyne" / f"{name}.bin").write_bytes(frame.points.astype("<f4").tobytes())
        (folder / "label_2" / f"{name}.txt").write_text(label_text(frame.objects), encoding="utf-8")
        (folder / "calib" / f"{name}.txt").write_text(frame.calibration.to_text(), encoding="utf-8")
        names.append(name)
        yield number
    lists = root / "ImageSets"
    lists.mkdir(exist_ok=True)
    (lists / f"{split}.txt").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
