"""Point clouds from PCL's .pcd files, in any of their encodings, by pypcd4."""

import io
import re
import struct
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.input_kinds.points.cloud_form import POINT_BYTES, check_count, max_points
from zoo.optional_library import optional_library

FIELDS = ("x", "y", "z", "intensity")
MAGIC = b"# .PCD"
COLOURS = {"rgb", "rgba"}
HEADER = 4096  # bytes in which a header ends
COMPRESSED = re.compile(rb"^DATA\s+binary_?s?compressed\s*\n(.{8})", re.MULTILINE | re.DOTALL)
CUT_OFF = "the file is cut off or broken: copy it again"


def decode_pcd(content: bytes, label: str) -> NDArray[np.float32]:
    """Points float32 [n, 4] from the content of a file that messages call `label`. Raises InputError.

    Raises LibraryMissingError where pypcd4 is not installed.
    """
    library = optional_library("pypcd4", "points", f"reading {label}")
    claimed = re.search(rb"^POINTS\s+(\d+)", content[:HEADER], re.MULTILINE)
    if claimed is None:
        raise InputError(f"point cloud {label}: no header of a .pcd file with its number of points; {CUT_OFF}")
    check_count(int(claimed[1]), label)
    _check_compressed(content, label)
    rows = _rows(library, content, label)
    if len(rows) != int(claimed[1]):
        raise InputError(f"point cloud {label}: {len(rows)} points, the header says {int(claimed[1])}; {CUT_OFF}")
    names = rows.dtype.names or ()
    if missing := [name for name in FIELDS if name not in names]:
        hint = "a colour is no intensity; " if COLOURS & set(names) else ""
        raise InputError(
            f"point cloud {label}: no field {', '.join(missing)} among {', '.join(names)}; {hint}write the file with "
            f"the fields {' '.join(FIELDS)}, as the model was trained with"
        )
    return np.stack([rows[name].astype(np.float32) for name in FIELDS], axis=1)


def _check_compressed(content: bytes, label: str) -> None:
    """Raises InputError where compressed points claim more bytes than the most points have in memory."""
    if (sizes := COMPRESSED.search(content[:HEADER])) is None:
        return
    _, size = struct.unpack("<II", sizes[1])
    if size > (bound := max_points() * POINT_BYTES):
        raise InputError(f"point cloud {label}: {size} bytes when decompressed, more than {bound}; {CUT_OFF}")


def _rows(library: Any, content: bytes, label: str) -> NDArray[Any]:
    """The points as the file has them: a structured array."""
    try:
        rows = library.PointCloud.from_fileobj(io.BytesIO(content)).pc_data
    except Exception as error:  # whatever the library raises of a broken file
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError(f"point cloud {label}: not a .pcd file that can be read ({reason}); {CUT_OFF}") from error
    return np.atleast_1d(rows)
