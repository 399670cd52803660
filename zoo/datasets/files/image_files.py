"""Images of a data set on the disk: their headers, checked before the first is decoded, and their pixels."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zoo.datasets.files.faults import Faults, Line
from zoo.errors import InputError
from zoo.image_file import Header, is_turned, read_header, read_stored
from zoo.image_pixels import ImageFileError, read_pixels

GONE = "no such file; it was removed after the data set was checked"


def check_header(
    path: Path, faults: Faults, *, named_in: Path | None = None, line: Line = None, size: tuple[int, int] | None = None
) -> Header | None:
    """The header of an image file; None, and a fault, where it is missing, no image, or of another (height, width).

    The fault names the file and line that speak of the image, where there are any, else the image.
    """
    name = "" if named_in is None else f"image {path}: "
    try:
        header = read_header(path)
    except FileNotFoundError:
        faults.add(named_in or path, f"{name}no such file", line)
        return None
    except ImageFileError as error:
        faults.add(path, str(error))
        return None
    if size is not None and header.size != size:
        turned = header.size[::-1] == size and is_turned(path)
        cure = (
            "; its orientation tag rotates it, but images with ground truth are read as stored: save the file upright"
        )
        found, expected = format_pixel_size(header.size), format_pixel_size(size)
        faults.add(named_in or path, f"{name}the file is {found}, expected {expected}{cure if turned else ''}", line)
        return None
    return header


def present_values(path: Path, faults: Faults) -> NDArray[np.bool_] | None:
    """Which of the values 0 to 255 a label map has, bool [256]; None, and a fault, where it cannot be decoded.

    3 ms for 2 megapixels, most of it to decode them: the 500 maps of Cityscapes' val take 3 to 5 s.
    """
    try:
        return np.asarray(read_stored(path).histogram()) > 0
    except FileNotFoundError:
        faults.add(path, "no such file")
    except ImageFileError as error:
        faults.add(path, str(error))
    return None


def read_image(path: Path, size: tuple[int, int] | None) -> NDArray[np.uint8]:
    """The pixels uint8 [h, w, 3] BGR of a whole image file.

    With `size` (height, width), what a truth refers to: the pixels as stored. Without: turned upright by the file's
    orientation tag. Raises InputError: missing, truncated, not an image, or of another size.
    """
    try:
        pixels = read_pixels(path, upright=size is None)
    except FileNotFoundError as error:
        raise InputError(f"{path}: {GONE}") from error
    except ImageFileError as error:
        raise InputError(f"{path}: {error}") from error
    if size is not None and pixels.shape[:2] != size:
        height, width = pixels.shape[:2]
        raise InputError(
            f"{path}: got {width}x{height}, expected {format_pixel_size(size)}; the file has changed since the check"
        )
    return pixels


def read_values(path: Path, size: tuple[int, int]) -> NDArray[np.uint8]:
    """The values uint8 [h, w] of a label map: grey levels, or the indices of a palette and never its colours.

    Raises InputError: missing, truncated, or not 8-bit values of that (height, width).
    """
    try:
        values = np.asarray(read_stored(path))
    except FileNotFoundError as error:
        raise InputError(f"{path}: {GONE}") from error
    except ImageFileError as error:
        raise InputError(f"{path}: {error}") from error
    if values.dtype != np.uint8 or values.shape != size:
        raise InputError(
            f"{path}: got {values.dtype} {list(values.shape)}, expected a label map of {format_pixel_size(size)} with "
            "8 bits a pixel; the file has changed since the check"
        )
    return values


def format_pixel_size(size: tuple[int, int]) -> str:
    """A (height, width) as people write it: width x height."""
    return f"{size[1]}x{size[0]}"
