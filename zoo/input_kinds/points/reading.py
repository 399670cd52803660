"""Point clouds from files: KITTI's .bin, .npy, and PCL's .pcd."""

import io
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.input_kinds.points.cloud_form import COLUMNS, POINT_BYTES, check_count
from zoo.input_kinds.points.pcd import MAGIC, decode_pcd

SUFFIXES = (".bin", ".npy", ".pcd")
NUSCENES, NUSCENES_BYTES = ".pcd.bin", 4 * 5
CONVERTED = "convert it to .npy: numpy.save(FILE, POINTS.astype('float32')), points [n, 4] as x y z intensity"
OTHER_FORMATS = (".e57", ".las", ".laz", ".ply", ".pts", ".xyz")
"""Formats of point clouds that are not read: no maintained library under a permissive licence gives the intensities of
.ply files in its API, and the others are those of surveys, whose intensities have no scale that a detector could know.
"""


def read_cloud(path: str | Path) -> NDArray[np.float32]:
    """Points float32 [n, 4] from a file, by its suffix. Raises InputError: no such file, another format, cut off."""
    file = Path(path)
    if not file.is_file():
        what = "is a folder; give its files one by one" if file.is_dir() else "no such file"
        raise InputError(f"point cloud {path}: {what}")
    refuse_format(file.name, str(path))
    try:
        if file.suffix.lower() == ".bin":
            check_count(file.stat().st_size // POINT_BYTES, str(path))
        content = file.read_bytes()
    except (OSError, MemoryError) as error:
        raise InputError(f"point cloud {path}: cannot be read ({error})") from error
    return decode_cloud(content, file.name, str(path))


def decode_cloud(content: bytes, name: str, label: str) -> NDArray[np.float32]:
    """As `read_cloud`, from the content of a file of this `name` that messages call `label`."""
    refuse_format(name, label)
    if is_npy(content):
        return _from_npy(content, label)
    if name.lower().endswith(".pcd") or content.startswith(MAGIC):
        return decode_pcd(content, label)
    if name.lower().endswith(".npy"):
        raise InputError(f"point cloud {label}: not an .npy file; {CONVERTED}")
    if len(content) % POINT_BYTES:
        more = ", as of nuScenes with 5 columns" if len(content) % NUSCENES_BYTES == 0 else ""
        raise InputError(
            f"point cloud {label}: {len(content)} bytes{more}, expected {POINT_BYTES} for each point, float32 x y z "
            f"intensity as KITTI's .bin files have it; {CONVERTED}"
        )
    check_count(len(content) // POINT_BYTES, label)
    cloud: NDArray[np.float32] = np.frombuffer(content, "<f4").reshape(-1, COLUMNS).astype(np.float32)
    return cloud


def refuse_format(name: str, label: str) -> None:
    """Raise InputError for the name of a file of another format than those of SUFFIXES."""
    suffix = Path(name).suffix.lower()
    if name.lower().endswith(NUSCENES):
        raise InputError(f"point cloud {label}: nuScenes' files have 5 columns, expected 4; {CONVERTED}")
    if suffix in OTHER_FORMATS:
        raise InputError(f"point cloud {label}: {suffix} files are not read; {CONVERTED}")


def is_npy(content: bytes) -> bool:
    """Whether a file begins as numpy's do; no KITTI file does: its first float would be 4.6e-38 m from the sensor."""
    return content.startswith(b"\x93NUMPY")


def npy_bytes(cloud: NDArray[np.float32]) -> bytes:
    """The content of an .npy file."""
    content = io.BytesIO()
    np.save(content, cloud, allow_pickle=False)
    return content.getvalue()


def _from_npy(content: bytes, label: str) -> NDArray[np.float32]:
    try:
        loaded = np.load(io.BytesIO(content), allow_pickle=False)
    except (OSError, ValueError, EOFError, MemoryError, OverflowError) as error:  # a shape that no memory holds as well
        raise InputError(f"point cloud {label}: the .npy file is broken ({error})") from error
    check_count(len(loaded) if loaded.ndim else 0, label)
    cloud: NDArray[np.float32] = loaded
    return cloud
