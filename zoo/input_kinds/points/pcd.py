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
ENTRIES = 10  # of a header at most, comments not counted, DATA the last: the library reads no more
DATA = re.compile(rb"^\s*DATA[^\n]*\n", re.MULTILINE)
SIZES = struct.Struct("<II")  # of compressed points, in bytes: as they lie behind the header, and unpacked
CUT_OFF = "the file is cut off or broken: copy it again"


def decode_pcd(content: bytes, label: str) -> NDArray[np.float32]:
    """Points float32 [n, 4] from the content of a file that messages call `label`. Raises InputError.

    Raises LibraryMissingError where pypcd4 is not installed.
    """
    library = optional_library("pypcd4", "points", f"reading {label}")
    claimed = _claimed_points(content, label)
    rows = _rows(library, content, label)
    if len(rows) != claimed:
        raise InputError(f"point cloud {label}: {len(rows)} points, the header says {claimed}; {CUT_OFF}")
    names = rows.dtype.names or ()
    if missing := [name for name in FIELDS if name not in names]:
        hint = "a colour is no intensity; " if COLOURS & set(names) else ""
        raise InputError(
            f"point cloud {label}: no field {', '.join(missing)} among {', '.join(names)}; {hint}write the file with "
            f"the fields {' '.join(FIELDS)}, as the model was trained with"
        )
    return np.stack([rows[name].astype(np.float32) for name in FIELDS], axis=1)


def _claimed_points(content: bytes, label: str) -> int:
    """The number of points that the header claims. Raises InputError where it or their size is beyond the bound.

    Also for a header that is not plain, which the library might read otherwise.
    """
    end = DATA.search(content[:HEADER])
    head = content[: end.end()] if end else b""
    entries = [line.split() for line in head.splitlines() if line.strip() and not line.strip().startswith(b"#")]
    counts = [entry[1] for entry in entries if entry[0].upper() == b"POINTS" and len(entry) > 1]
    plain = 0 < len(entries) <= ENTRIES and entries[-1][0] == b"DATA" and len(entries[-1]) > 1
    if not plain or len(counts) != 1 or not counts[0].isdigit():
        raise InputError(f"point cloud {label}: no header of a .pcd file with its number of points; {CUT_OFF}")
    claimed = int(counts[0])
    check_count(claimed, label)
    sizes = content[len(head) : len(head) + SIZES.size]
    if b"compressed" in entries[-1][1].lower() and len(sizes) == SIZES.size:
        _, size = SIZES.unpack(sizes)
        if size > (bound := max_points() * POINT_BYTES):
            raise InputError(f"point cloud {label}: {size} bytes when decompressed, more than {bound}; {CUT_OFF}")
    return claimed


def _rows(library: Any, content: bytes, label: str) -> NDArray[Any]:
    """The points as the file has them: a structured array."""
    try:
        rows = library.PointCloud.from_fileobj(io.BytesIO(content)).pc_data
    except Exception as error:  # whatever the library raises of a broken file
        reason = next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
        raise InputError(f"point cloud {label}: not a .pcd file that can be read ({reason}); {CUT_OFF}") from error
    return np.atleast_1d(rows)
