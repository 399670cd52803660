"""Writing an image to a file, with the error where it cannot be."""

import errno
from collections.abc import Sequence
from pathlib import Path

import cv2
import numpy as np
from numpy.typing import NDArray


def write_image(path: Path, pixels: NDArray[np.uint8], options: Sequence[int]) -> None:
    """Writes uint8 [h, w, 3] BGR or [h, w] in the format of the path's suffix; `options` are those of cv2.imencode.

    Raises OSError, which cv2.imwrite does not: it answers False for a full disk as for a missing folder.
    """
    try:
        is_encoded, code = cv2.imencode(path.suffix, pixels, options)
    except cv2.error:
        is_encoded = False
    if not is_encoded:
        height, width = pixels.shape[:2]
        raise OSError(errno.EINVAL, f'OpenCV cannot encode {width}x{height} pixels as "{path.suffix}"', str(path))
    path.write_bytes(code.tobytes())
