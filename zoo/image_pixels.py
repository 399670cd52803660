"""Image files as pixels: known by their content, measured before they are decoded, and decoded whole by OpenCV.

OpenCV's `imdecode` gives the pixels that production gets, and nothing for a truncated file (its `imread` would fill
what is missing with grey). Only files of five formats come to it.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.environment_bound import environment_bound
from zoo.image_header import SIGNATURE_BYTES, Size, image_size, is_known_format
from zoo.preprocess import OPENCV_MAX_PIXELS

GIVE = "give a JPEG, PNG, BMP, TIFF or WebP"
UNKNOWN = f"not an image that can be read (its content is of no known format); {GIVE}"
MAX_PIXELS = 2**28
"""More than any camera's sensor has (200 megapixels); decoded, that is 0.8 GB, and twice as much at most meanwhile."""
MAX_PIXELS_VARIABLE = "ZOOPORT_MAX_PIXELS"
BYTES_OF_PIXEL, HEAD = 8, 2**24  # of a file: four channels of 16 bits at most, and what describes them


class ImageFileError(Exception):
    """Why an image file cannot be read, and what to do, without its name."""


def max_pixels() -> int:
    """How many pixels an image file may have: MAX_PIXELS, or what the environment says. Raises InputError."""
    return environment_bound(
        MAX_PIXELS_VARIABLE, MAX_PIXELS, OPENCV_MAX_PIXELS, unit="pixels", reason=", OpenCV's own bound"
    )


def read_pixels(path: Path, *, upright: bool = True) -> NDArray[np.uint8]:
    """The pixels uint8 [h, w, 3] BGR of a whole file, as cv2.imread gives them.

    `upright`: turned by the file's orientation tag. Raises ImageFileError where the file is no image of a known format,
    has too many pixels, or is broken or truncated; FileNotFoundError.
    """
    with opened_image(path) as stream:
        if not is_known_format(stream.read(SIGNATURE_BYTES)):  # a video, say, of which nobody wants all in memory
            raise ImageFileError(UNKNOWN)
        size, pixels = os.fstat(stream.fileno()).st_size, max_pixels()
        if size > BYTES_OF_PIXEL * pixels + HEAD:
            raise ImageFileError(f"{size} bytes, more than an image of {pixels} pixels has; give a smaller image")
        stream.seek(0)
        content = stream.read()
    return decode_pixels(content, upright=upright)


def decode_pixels(content: bytes, *, upright: bool = True) -> NDArray[np.uint8]:
    """As `read_pixels`, from the content of a file. Raises ImageFileError."""
    size = _checked_size(content)
    stored = 0 if upright else cv2.IMREAD_IGNORE_ORIENTATION
    try:
        pixels = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR | stored)
    except cv2.error as error:
        raise ImageFileError(f"OpenCV cannot read it ({error.err}); give a JPEG or PNG") from error
    if pixels is None:
        raise ImageFileError("corrupt or truncated; give a whole image file")
    if sorted(pixels.shape[:2]) != sorted(size):
        raise ImageFileError("OpenCV cannot read it; give a JPEG or PNG")
    return np.asarray(pixels, np.uint8)


def check_bound(size: Size) -> None:
    """Raises ImageFileError for more pixels than `max_pixels`."""
    height, width = size
    if height * width > (bound := max_pixels()):
        raise ImageFileError(
            f"{width}x{height} are {height * width} pixels, more than the bound of {bound}; give a smaller image, "
            f"or set {MAX_PIXELS_VARIABLE}={height * width} where you trust it and have the memory"
        )


def _checked_size(content: bytes) -> Size:
    """(height, width) of a known format, within the bound."""
    try:
        size = image_size(content)
    except ValueError as error:
        raise ImageFileError(f"not an image that can be read ({error}); {GIVE}") from error
    if size is None:
        raise ImageFileError(UNKNOWN)
    check_bound(size)
    return size


@contextmanager
def opened_image(path: Path) -> Iterator[IO[bytes]]:
    """The file, open for reading. Raises ImageFileError, and FileNotFoundError."""
    try:
        if path.exists() and not path.is_file():  # to open a pipe would wait for its writer
            raise ImageFileError("not a file; " + GIVE)
        stream = path.open("rb")
    except FileNotFoundError:
        raise
    except OSError as error:
        raise ImageFileError(f"cannot be read ({error.strerror}); make it readable") from error
    with stream:
        yield stream
