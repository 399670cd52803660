"""Where KITTI's left colour camera is, as its calib files say it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError

Array = NDArray[np.float64]

IMAGE_SIZE = (375, 1242)
"""(height, width) in pixels of most of KITTI's images."""
KEYS = {"projection": "P2", "rectification": "R0_rect", "to_camera": "Tr_velo_to_cam"}
"""Of each field the key in a calib file."""
OTHERS = ("P0", "P1", "P3", "Tr_imu_to_velo")
"""The keys of a calib file that the left colour camera does not need."""
SHAPES = {
    "P0": (3, 4),
    "P1": (3, 4),
    "P2": (3, 4),
    "P3": (3, 4),
    "R0_rect": (3, 3),
    "Tr_velo_to_cam": (3, 4),
    "Tr_imu_to_velo": (3, 4),
}
"""Of the matrices of a calib file, in its order."""
DIGITS = 12


@dataclass(frozen=True, eq=False)
class Calibration:
    """`projection` [3, 4] (P2): rectified camera frame -> pixels. `rectification` [3, 3] (R0_rect). `to_camera` [3, 4]
    (Tr_velo_to_cam): frame of the points -> camera. Metres; float64.

    `others`: by their keys the matrices of a file that only its text needs, see OTHERS.
    """

    projection: Array
    rectification: Array
    to_camera: Array
    others: Mapping[str, Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in KEYS:
            matrix = np.array(getattr(self, name), np.float64)
            matrix.setflags(write=False)
            object.__setattr__(self, name, matrix)

    @classmethod
    def from_text(cls, text: str, path: object) -> Self:
        """From the content of a calib file. Raises InputError, naming `path` and the line.

        Numbers must be finite, and the matrices of the left colour camera must have inverses.
        """
        matrices: dict[str, Array] = {}
        for number, line in enumerate(text.splitlines(), 1):
            key, _, numbers = (part.strip() for part in line.partition(":"))
            if key in SHAPES:
                matrices[key] = _matrix(key, numbers, f"{path}, line {number}")
        if missing := [key for key in KEYS.values() if key not in matrices]:
            raise InputError(f"{path}: no {', '.join(missing)}, expected a calib file of KITTI's object data set")
        own = {name: matrices.pop(key) for name, key in KEYS.items()}
        return cls(**own, others=matrices)

    def to_text(self) -> str:
        """The content of a calib file, with an empty line at its end, as KITTI has it.

        Cameras that are not among the `others` have the projection of this one.
        """
        lines = dict.fromkeys(OTHERS[:3], self.projection) | {OTHERS[3]: np.eye(3, 4)} | dict(self.others)
        lines |= {key: getattr(self, name) for name, key in KEYS.items()}
        rows = (f"{key}: {' '.join(f'{value:.{DIGITS}e}' for value in lines[key].flat)}\n" for key in SHAPES)
        return "".join(rows) + "\n"

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

    def projected(self, points: NDArray[np.floating]) -> Array:
        """x y z [..., 3] of the rectified camera's frame -> pixels times depth, and the depth in metres [..., 3]."""
        projected: Array = points @ self.projection[:, :3].T + self.projection[:, 3]
        return projected


def _matrix(key: str, numbers: str, where: str) -> Array:
    """Raises InputError, which begins with `where`."""
    shape = SHAPES[key]
    try:
        matrix = np.array([float(word) for word in numbers.split()]).reshape(shape)
    except ValueError as error:
        raise InputError(f"{where}: expected {key}: and {shape[0] * shape[1]} numbers ({error})") from error
    if not np.isfinite(matrix).all():
        raise InputError(f"{where}: {key} has a number that is not finite")
    if key in KEYS.values() and np.linalg.matrix_rank(matrix[:, :3]) < len(matrix):
        raise InputError(f"{where}: {key} has no inverse, expected the matrix of a camera")
    return matrix


NOMINAL = Calibration(
    projection=np.array([[721.5377, 0, 609.5593, 0], [0, 721.5377, 172.854, 0], [0, 0, 1, 0]]),
    rectification=np.eye(3),
    to_camera=np.array([[0.0, -1, 0, 0], [0, 0, -1, -0.08], [1, 0, 0, -0.27]]),
)
"""The camera of the data set `streets`, and of label files that are written for clouds without a calibration: KITTI's
focal length and centre, 8 cm below the sensor and 27 cm in front of it, its axes parallel to the sensor's."""
