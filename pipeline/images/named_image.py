"""Images from files, checked, with a name for reports."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from zoo.input_kinds.image.reading import read_image as read_pixels
from zoo.printable import printable


class NamedImage(NamedTuple):
    """``pixels`` uint8 [h, w, 3] BGR; ``name`` for reports: the file's name without folders, printable."""

    name: str
    pixels: NDArray[np.uint8]


def read_image(path: str | Path) -> NamedImage:
    """One image. Raises InputError, see zoo.input_kinds.image.reading."""
    return NamedImage(printable(Path(path).name), read_pixels(path))


def distinct(images: Sequence[NamedImage]) -> list[NamedImage]:
    """The images without those whose pixels came before."""
    seen: dict[tuple[tuple[int, ...], bytes], NamedImage] = {}
    for image in images:
        seen.setdefault((image.pixels.shape, image.pixels.tobytes()), image)
    return list(seen.values())
