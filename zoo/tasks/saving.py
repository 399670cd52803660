"""Results as the content of files."""

import io
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import IO, Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError


def png(image: NDArray[Any]) -> bytes:
    """An image uint8 [h, w, 3] BGR, or uint8 or uint16 [h, w]. Raises InputError where OpenCV cannot write it."""
    good, content = cv2.imencode(".png", image)
    if not good:
        raise InputError(f"an image of {image.shape[1]}x{image.shape[0]} pixels cannot be written as png")
    return content.tobytes()


def rows_of_json(rows: Sequence[Mapping[str, Any]]) -> bytes:
    """An object for each row; of plain types, so None for what is not finite."""
    return json.dumps(rows, indent=1).encode()


class Parts(NamedTuple):
    """An array of which no more than a part need be in memory. `parts`: along its first axis."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    parts: Iterable[NDArray[Any]]


def npz(arrays: Mapping[str, NDArray[Any] | Parts]) -> bytes:
    """Arrays by name, as `numpy.load` reads them, and of any name: the same bytes for the same arrays."""
    import zipfile  # which a program that saves no arrays need not wait for

    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")  # its date is always the same
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as file:
                if isinstance(array, Parts):
                    _write_parts(file, array)
                else:
                    np.lib.format.write_array(file, array, allow_pickle=False)
    return content.getvalue()


def _write_parts(file: IO[bytes], array: Parts) -> None:
    """As `numpy.lib.format.write_array` writes the whole array."""
    header = {"descr": np.lib.format.dtype_to_descr(array.dtype), "fortran_order": False, "shape": array.shape}
    np.lib.format.write_array_header_1_0(file, header)
    for part in array.parts:
        file.write(part.astype(array.dtype, copy=False).tobytes())
