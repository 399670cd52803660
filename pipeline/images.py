"""Pictures from files, checked: a truncated file is an error here, where OpenCV would give half a picture."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import cv2
import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from zoo.errors import InputError
from zoo.preprocess import check_image

Image.MAX_IMAGE_PIXELS = 2**30  # OpenCV's own limit; Pillow's guards servers from strangers' files


class NamedImage(NamedTuple):
    """``pixels`` uint8 [h, w, 3] BGR; ``name`` for reports: the file's name without folders."""

    name: str
    pixels: NDArray[np.uint8]


def read_image(path: str | Path) -> NamedImage:
    """Read one picture. Raises InputError: no such file, not an image, truncated, smaller than 32 pixels."""
    file = Path(path)
    if not file.is_file():
        what = "is a folder; give its files one by one" if file.is_dir() else "no such file"
        raise InputError(f"image {path}: {what}")
    try:
        content = file.read_bytes()
    except OSError as error:
        raise InputError(f"image {path}: cannot be read ({error.strerror})") from error
    try:
        with Image.open(file) as picture:
            picture.load()  # decodes to the end: OpenCV would fill what is missing with grey, without an error
    except UnidentifiedImageError as error:
        raise InputError(f"image {path}: not an image that can be read; give a JPEG, PNG, BMP, TIFF or WebP") from error
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise InputError(f"image {path}: corrupt or truncated ({error}); give a whole file") from error
    pixels: Any = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    if pixels is None:
        raise InputError(f"image {path}: OpenCV cannot read it; give a JPEG or PNG")
    check_image(pixels, f"image {path}")
    return NamedImage(file.name, pixels)


def distinct(images: Sequence[NamedImage]) -> list[NamedImage]:
    """The images without those whose pixels came before."""
    seen: dict[tuple[tuple[int, ...], bytes], NamedImage] = {}
    for image in images:
        seen.setdefault((image.pixels.shape, image.pixels.tobytes()), image)
    return list(seen.values())
