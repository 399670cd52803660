"""Images from files, checked, with a name for reports."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.image_file import ImageFileError, read_pixels
from zoo.preprocess import check_image
from zoo.printable import printable


class NamedImage(NamedTuple):
    """``pixels`` uint8 [h, w, 3] BGR; ``name`` for reports: the file's name without folders, printable."""

    name: str
    pixels: NDArray[np.uint8]


def read_image(path: str | Path) -> NamedImage:
    """Read one image. Raises InputError: no such file, not an image, truncated, too large, smaller than 32 pixels."""
    file = Path(path)
    if not file.is_file():
        what = "is a folder; give its files one by one" if file.is_dir() else "no such file"
        raise InputError(f"image {path}: {what}")
    try:
        pixels = read_pixels(file)
    except ImageFileError as error:
        raise InputError(f"image {path}: {error}") from error
    check_image(pixels, f"image {path}")
    return NamedImage(printable(file.name), pixels)


def distinct(images: Sequence[NamedImage]) -> list[NamedImage]:
    """The images without those whose pixels came before."""
    seen: dict[tuple[tuple[int, ...], bytes], NamedImage] = {}
    for image in images:
        seen.setdefault((image.pixels.shape, image.pixels.tobytes()), image)
    return list(seen.values())
