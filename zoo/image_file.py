"""Image files: known by their content, measured before they are decoded, and decoded whole. Needs Pillow.

Pillow and OpenCV both read a file: OpenCV's pixels are what a deployment gets in production, but it fills what is
missing of a truncated file with grey, without an error. Pillow's general `Image.open` is not used: its plugins for
other formats start programs (Ghostscript, for a PostScript file of any name), and its bound on pixels is one of the
whole process.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray

# each registers its format in Image.OPEN
from PIL import BmpImagePlugin, Image, JpegImagePlugin, PngImagePlugin, TiffImagePlugin, WebPImagePlugin  # noqa: F401

from zoo.errors import InputError
from zoo.preprocess import OPENCV_MAX_PIXELS

FORMATS = ("JPEG", "PNG", "BMP", "TIFF", "WEBP")
GIVE = "give a JPEG, PNG, BMP, TIFF or WebP"
SIGNATURE_BYTES = 16
MAX_PIXELS = 2**28
"""More than any camera's sensor has (200 megapixels); decoded, that is 0.8 GB, and twice as much at most meanwhile."""
MAX_PIXELS_VARIABLE = "ZOOPORT_MAX_PIXELS"


class ImageFileError(Exception):
    """Why an image file cannot be read, and what to do, without its name."""


class Header(NamedTuple):
    """`size` (height, width) in pixels, as stored: an orientation tag is not applied. `mode` is PIL's."""

    size: tuple[int, int]
    mode: str


def max_pixels() -> int:
    """How many pixels an image file may have: MAX_PIXELS, or what the environment says. Raises InputError."""
    text = os.environ.get(MAX_PIXELS_VARIABLE)
    if text is None:
        return MAX_PIXELS
    if not (text.isascii() and text.isdecimal() and 1 <= int(text[:20]) <= OPENCV_MAX_PIXELS):
        raise InputError(
            f"environment variable {MAX_PIXELS_VARIABLE}={text}: expected a whole number of pixels, 1 to "
            f"{OPENCV_MAX_PIXELS}, OpenCV's own bound; correct it, or unset it for {MAX_PIXELS}"
        )
    return int(text)


def read_header(path: Path) -> Header:
    """Size and mode, without decoding. Raises ImageFileError, and FileNotFoundError."""
    with _opened(path) as stream:
        image = _identified(stream)
        return Header((image.height, image.width), image.mode)


def read_pixels(path: Path, *, upright: bool = True) -> NDArray[np.uint8]:
    """The pixels uint8 [h, w, 3] BGR of a whole file, as cv2.imread gives them.

    `upright`: turned by the file's orientation tag. Raises ImageFileError where the file is no image of a known format,
    has too many pixels, or is broken or truncated; FileNotFoundError.
    """
    with _opened(path) as stream:
        content = stream.read()
    size = _whole(BytesIO(content)).size
    stored = 0 if upright else cv2.IMREAD_IGNORE_ORIENTATION
    try:
        pixels = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR | stored)
    except cv2.error as error:
        raise ImageFileError(f"OpenCV cannot read it ({error.err}); give a JPEG or PNG") from error
    if pixels is None or sorted(pixels.shape[:2]) != sorted(size):
        raise ImageFileError("OpenCV cannot read it; give a JPEG or PNG")
    return np.asarray(pixels, np.uint8)


def read_stored(path: Path) -> Any:
    """PIL's image of a whole file: its values as they are stored, of a palette its indices. Raises as read_pixels."""
    with _opened(path) as stream:
        return _whole(stream)


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
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


def _identified(stream: IO[bytes]) -> Image.Image:
    """PIL's image with its header read, of one of the formats alone, and within the bound."""
    signature = stream.read(SIGNATURE_BYTES)
    image: Image.Image | None = None
    for name in FORMATS:
        factory, accepts = Image.OPEN[name]
        if accepts is not None and accepts(signature) is True:
            stream.seek(0)
            try:
                image = factory(stream, "")
            except Exception as error:  # whatever a broken file makes the plugin stumble over
                raise ImageFileError(f"not an image that can be read ({_reason(error)}); {GIVE}") from error
    if image is None:
        raise ImageFileError(f"not an image that can be read (its content is of no known format); {GIVE}")
    pixels, bound = image.width * image.height, max_pixels()
    if pixels > bound:
        raise ImageFileError(
            f"{image.width}x{image.height} are {pixels} pixels, more than the bound of {bound}; give a smaller image, "
            f"or set {MAX_PIXELS_VARIABLE}={pixels} where you trust it and have the memory"
        )
    return image


def _whole(stream: IO[bytes]) -> Image.Image:
    image = _identified(stream)
    try:
        image.load()
    except Exception as error:  # as above
        raise ImageFileError(f"corrupt or truncated ({_reason(error)}); give a whole image file") from error
    return image


def _reason(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
