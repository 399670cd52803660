"""Results as the content of files."""

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

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


def npz(arrays: Mapping[str, NDArray[Any]]) -> bytes:
    """Arrays by name, as `numpy.load` reads them, and of any name: the same bytes for the same arrays."""
    import zipfile  # which a program that saves no arrays need not wait for

    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in arrays.items():
            entry = zipfile.ZipInfo(f"{name}.npy")  # its date is always the same
            entry.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(entry, "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array, allow_pickle=False)
    return content.getvalue()
