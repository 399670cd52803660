"""Results as the content of files."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import cv2
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
