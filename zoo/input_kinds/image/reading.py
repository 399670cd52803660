"""Images from files, checked."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.image_pixels import ImageFileError, decode_pixels, read_pixels
from zoo.preprocess import check_image

SUFFIXES = (".bmp", ".jpeg", ".jpg", ".png", ".tif", ".tiff", ".webp")


def read_image(path: str | Path) -> NDArray[np.uint8]:
    """Pixels uint8 [h, w, 3] BGR.

    Raises InputError: no such file, not an image, truncated, too large, smaller than 32 pixels.
    """
    file = Path(path)
    if not file.is_file():
        what = "is a folder; give its files one by one" if file.is_dir() else "no such file"
        raise InputError(f"image {path}: {what}")
    try:
        pixels = read_pixels(file)
    except ImageFileError as error:
        raise InputError(f"image {path}: {error}") from error
    check_image(pixels, f"image {path}")
    return pixels


def decode_image(content: bytes, label: str) -> NDArray[np.uint8]:
    """As `read_image`, from the content of a file that messages call `label`."""
    try:
        pixels = decode_pixels(content)
    except ImageFileError as error:
        raise InputError(f"image {label}: {error}") from error
    check_image(pixels, f"image {label}")
    return pixels
