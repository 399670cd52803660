"""Where KITTI's left colour camera is, as its calib files say it."""

from dataclasses import dataclass, fields
from typing import Self

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError

Array = NDArray[np.float64]

IMAGE_SIZE = (375, 1242)
"""(height, width) in pixels of most of KITTI's images."""
KEYS = {"projection": ("P2", (3, 4)), "rectification": ("R0_rect", (3, 3)), "to_camera": ("Tr_velo_to_cam", (3, 4))}
"""Of each field the key in a calib file, and its shape."""
OTHERS = ("P0", "P1", "P3", "Tr_imu_to_velo")
"""The keys of a calib file that the left colour camera does not need."""
DIGITS = 12


@dataclass(frozen=True, eq=False)
class Calibration:
    """`projection` [3, 4] (P2): rectified camera frame -> pixels. `rectification` [3, 3] (R0_rect). `to_camera` [3, 4]
    (Tr_velo_to_cam): frame of the points -> camera. Metres; float64.
    """

    projection: Array
    rectification: Array
    to_camera: Array

    def __post_init__(self) -> None:
        for field in fields(self):
            matrix = np.array(getattr(self, field.name), np.float64)
            matrix.setflags(write=False)
            object.__setattr__(self, field.name, matrix)

    @classmethod
    def from_text(cls, text: str, path: object) -> Self:
        """From the content of a calib file. Raises InputError, naming `path` and the line."""
        values: dict[str, Array] = {}
        names = {key: (name, shape) for name, (key, shape) in KEYS.items()}
        for number, line in enumerate(text.splitlines(), 1):
            key, _, numbers = line.partition(":")
            if key.strip() not in names:
                continue
            name, shape = names[key.strip()]
            try:
                values[name] = np.array([float(word) for word in numbers.split()]).reshape(shape)
            except ValueError as error:
                size = shape[0] * shape[1]
                raise InputError(f"{path}, line {number}: expected {key}: and {size} numbers ({error})") from error
        if missing := [key for name, (key, _) in KEYS.items() if name not in values]:
            raise InputError(f"{path}: no {', '.join(missing)}, expected a calib file of KITTI's object data set")
        return cls(**values)

    def to_text(self) -> str:
        """The content of a calib file; the other cameras have the projection of this one."""
        lines = {key: getattr(self, name) for name, (key, _) in KEYS.items()}
        lines |= dict.fromkeys(OTHERS[:3], self.projection) | {OTHERS[3]: np.eye(3, 4)}
        order = ("P0", "P1", "P2", "P3", "R0_rect", "Tr_velo_to_cam", "Tr_imu_to_velo")
        return "".join(f"{key}: {' '.join(f'{value:.{DIGITS}e}' for value in lines[key].flat)}\n" for key in order)

    @property
    def rotation(self) -> Array:
        """[3, 3]: directions of the points' frame -> those of the rectified camera."""
        rotation: Array = self.rectification @ self.to_camera[:, :3]
        return rotation

    def in_camera(self, points: NDArray[np.floating]) -> Array:
        """x y z [..., 3] of the points' frame in the rectified camera's."""
        there: Array = (points @ self.to_camera[:, :3].T + self.to_camera[:, 3]) @ self.rectification.T
        return there

    def from_camera(self, points: NDArray[np.floating]) -> Array:
        """The inverse of `in_camera`."""
        back = points @ np.linalg.inv(self.rectification).T - self.to_camera[:, 3]
        there: Array = back @ np.linalg.inv(self.to_camera[:, :3]).T
        return there

    def in_image(self, points: NDArray[np.floating]) -> Array:
        """x y z [..., 3] of the rectified camera's frame, z > 0, in pixels [..., 2]."""
        projected = points @ self.projection[:, :3].T + self.projection[:, 3]
        pixels: Array = projected[..., :2] / projected[..., 2:]
        return pixels


NOMINAL = Calibration(
    projection=np.array([[721.5377, 0, 609.5593, 0], [0, 721.5377, 172.854, 0], [0, 0, 1, 0]]),
    rectification=np.eye(3),
    to_camera=np.array([[0.0, -1, 0, 0], [0, 0, -1, -0.08], [1, 0, 0, -0.27]]),
)
"""The camera of the data set `streets`, and of label files that are written for clouds without a calibration: KITTI's
focal length and centre, 8 cm below the sensor and 27 cm in front of it, its axes parallel to the sensor's."""
