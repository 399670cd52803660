"""Images of a data set on the disk: their headers, checked before the first is decoded, and their pixels."""

from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from zoo.datasets.files.faults import Faults, Line
from zoo.errors import InputError

UNREADABLE = (OSError, SyntaxError, ValueError, Image.DecompressionBombError)  # what PIL raises for a broken file


class Header(NamedTuple):
    """`size` (height, width) in pixels, as stored: an orientation tag is not applied. `mode` is PIL's."""

    size: tuple[int, int]
    mode: str


def check_header(
    path: Path, faults: Faults, *, named_in: Path | None = None, line: Line = None, size: tuple[int, int] | None = None
) -> Header | None:
    """The header of an image file; None, and a fault, where it is missing, no image, or of another (height, width).

    The fault names the file and line that speak of the image, where there are any, else the image.
    """
    name = "" if named_in is None else f"image {path}: "
    try:
        with Image.open(path) as image:
            header = Header((image.height, image.width), image.mode)
    except FileNotFoundError:
        faults.add(named_in or path, f"{name}no such file", line)
        return None
    except UNREADABLE as error:
        faults.add(path, f"not an image that can be read ({_first_line(error)})")
        return None
    if size is not None and header.size != size:
        faults.add(named_in or path, f"{name}the file is {words(header.size)}, expected {words(size)}", line)
        return None
    return header


def present_values(path: Path, faults: Faults) -> NDArray[np.bool_] | None:
    """Which of the values 0 to 255 a label map has, bool [256]; None, and a fault, where it cannot be decoded.

    3 ms for 2 megapixels, most of it to decode them: the 500 maps of Cityscapes' val take 3 to 5 s.
    """
    try:
        with Image.open(path) as image:
            return np.asarray(image.histogram()) > 0
    except UNREADABLE as error:
        faults.add(path, f"corrupt or truncated ({_first_line(error)})")
        return None


def read_image(path: Path, size: tuple[int, int] | None) -> NDArray[np.uint8]:
    """The pixels uint8 [h, w, 3] BGR of a whole image file.

    With `size` (height, width), what a truth refers to: the pixels as stored. Without: turned upright by the file's
    orientation tag. Raises InputError: missing, truncated, not an image, or of another size.
    """
    _check_whole(path)
    stored = 0 if size is None else cv2.IMREAD_IGNORE_ORIENTATION
    pixels = cv2.imread(str(path), cv2.IMREAD_COLOR | stored)
    if pixels is None:
        raise InputError(f"{path}: OpenCV cannot read it; give a JPEG or PNG")
    if size is not None and pixels.shape[:2] != size:
        height, width = pixels.shape[:2]
        raise InputError(f"{path}: got {width}x{height}, expected {words(size)}; the file has changed since the check")
    return np.asarray(pixels, np.uint8)


def read_values(path: Path, size: tuple[int, int]) -> NDArray[np.uint8]:
    """The values uint8 [h, w] of a label map: grey levels, or the indices of a palette and never its colours.

    Raises InputError: missing, truncated, or not 8-bit values of that (height, width).
    """
    image = _check_whole(path)
    values = np.asarray(image)
    if values.dtype != np.uint8 or values.shape != size:
        raise InputError(
            f"{path}: got {values.dtype} {list(values.shape)}, expected a label map of {words(size)} with 8 bits a "
            "pixel; the file has changed since the check"
        )
    return values


def _check_whole(path: Path) -> Any:
    """The image, decoded to its end by PIL: OpenCV would fill what is missing with grey, without an error."""
    try:
        with Image.open(path) as image:
            image.load()
            return image
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; it has gone since the data set was checked") from error
    except UNREADABLE as error:
        raise InputError(f"{path}: corrupt or truncated ({_first_line(error)}); give a whole image file") from error


def words(size: tuple[int, int]) -> str:
    """A (height, width) as people write it: width x height."""
    return f"{size[1]}x{size[0]}"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
