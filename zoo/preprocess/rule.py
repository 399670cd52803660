"""A config's section `preprocess`: how an image becomes the tensor `images`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError, nearest
from zoo.preprocess.geometry import Geometry
from zoo.preprocess.image_check import CHANNELS, MIN_SIDE, check_image, rows_of_pixels
from zoo.preprocess.normalization import channel_numbers

MAX_BYTE = 255
NORMALIZATION = ("mean", "std")
RESIZES = ("letterbox", "stretch", "keep")
INTERPOLATIONS = {"bilinear": cv2.INTER_LINEAR, "nearest": cv2.INTER_NEAREST, "area": cv2.INTER_AREA}

Array = NDArray[Any]


class PlacedImage(NamedTuple):
    """A tensor that is not made yet: the resized image uint8 [h, w, 3] BGR, where it lies, and the byte around it."""

    resized: Array
    geometry: Geometry
    pad_value: int

    def write(self, top: int, left: int, out: NDArray[np.float32]) -> None:
        """Write the tensor from (top, left) on into `out` float32 [3, h, w], RGB, 0..1; every element is written."""
        _, height, width = out.shape
        piece = self.resized[top : top + height, left : left + width]
        rows, columns = piece.shape[:2]
        planes = cv2.split(rows_of_pixels(piece)) if piece.size else ()  # a window may lie in the padding alone
        for channel, plane in enumerate(reversed(planes)):
            np.divide(plane, np.float32(MAX_BYTE), out=out[channel, :rows, :columns])
        pad = np.float32(self.pad_value) / np.float32(MAX_BYTE)
        if columns < width:
            out[:, :rows, columns:] = pad
        if rows < height:
            out[:, rows:] = pad


@dataclass(frozen=True)
class Preprocess:
    """How an image becomes the tensor `images`. Frozen; InputError for a field out of range.

    `size`: (height, width) of the tensor in pixels; None where `resize` is "keep".
    `resize`: "letterbox" keeps the aspect ratio: scale = min(H / h, W / w), each side max(1, round(side * scale)), the
    rest of the tensor is `pad_value`; "stretch" fills the tensor; "keep" takes the image as it is and pads it up to
    multiples of `size_divisor`, for graphs with dynamic height and width.
    `interpolation`: "bilinear", "nearest" or "area". `pad_value`: a byte, of all channels.
    `mean`, `std`: of red, green and blue, in units of the tensor's 0..1. The graph itself subtracts the mean and
    divides by the standard deviation; the tensor that is made here stays 0..1. None: the graph does neither.
    """

    size: tuple[int, int] | None
    resize: str = "letterbox"
    interpolation: str = "bilinear"
    pad_value: int = 114
    size_divisor: int = 32
    mean: tuple[float, float, float] | None = None
    std: tuple[float, float, float] | None = None

    def __post_init__(self) -> None:
        for name, known in (("resize", RESIZES), ("interpolation", tuple(INTERPOLATIONS))):
            value = getattr(self, name)
            if value not in known:
                raise InputError(f'preprocess: unknown {name} "{value}"; {nearest(str(value), known)}')
        self._check_size()
        if not (_is_int(self.pad_value, 0) and self.pad_value <= MAX_BYTE):
            raise InputError(f"preprocess: got pad_value {self.pad_value!r}, expected an integer from 0 to {MAX_BYTE}")
        if not _is_int(self.size_divisor, 1):
            raise InputError(f"preprocess: got size_divisor {self.size_divisor!r}, expected an integer, 1 or more")
        self._check_normalization()

    def _check_size(self) -> None:
        if (self.size is None) != (self.resize == "keep"):
            raise InputError(
                f'preprocess: got size {self.size} with resize "{self.resize}"; give a size (height, width), '
                'or size None with resize "keep"'
            )
        if self.size is not None:
            sides = tuple(self.size)
            if len(sides) != 2 or not all(_is_int(side, MIN_SIDE) for side in sides):  # noqa: PLR2004 - (height, width)
                raise InputError(
                    f"preprocess: got size {self.size}, expected (height, width) in whole pixels, {MIN_SIDE} or more"
                )
            object.__setattr__(self, "size", sides)

    def _check_normalization(self) -> None:
        if (self.mean is None) != (self.std is None):
            present, absent = ("mean", "std") if self.std is None else ("std", "mean")
            raise InputError(f"preprocess: got {present} without {absent}; give both, or neither")
        for name in NORMALIZATION:
            if (values := getattr(self, name)) is not None:
                object.__setattr__(self, name, channel_numbers(name, values))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """From a config's or a manifest's mapping. Raises InputError for an unknown key, naming the nearest."""
        known = tuple(cls.__dataclass_fields__)
        for key in fields:
            if key not in known:
                raise InputError(f'preprocess: unknown key "{key}"; {nearest(str(key), known)}')
        if "size" not in fields and fields.get("resize") != "keep":
            raise InputError("preprocess: no size; give size=(height, width)")
        return cls(**{"size": None, **fields})

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain JSON types, without `mean` and `std` where there are none; from_dict reads it back."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        plain = {name: list(value) if isinstance(value, tuple) else value for name, value in fields.items()}
        return {name: value for name, value in plain.items() if value is not None or name not in NORMALIZATION}

    def geometry(self, height: int, width: int) -> Geometry:
        """Where an image of height x width pixels comes to lie in the tensor."""
        if self.size is None:
            divisor = self.size_divisor
            padded = (-(-height // divisor) * divisor, -(-width // divisor) * divisor)
            return Geometry((height, width), (height, width), padded)
        if self.resize == "stretch":
            return Geometry((height, width), self.size, self.size)
        scale = min(self.size[0] / height, self.size[1] / width)
        resized = (max(1, round(height * scale)), max(1, round(width * scale)))
        return Geometry((height, width), resized, self.size)

    def run(self, image: Array, out: NDArray[np.float32]) -> Geometry:
        """Write `image` uint8 [h, w, 3] BGR into `out` float32 [3, H, W], RGB, 0..1. The image is not changed.

        `out` must be C-contiguous and of the geometry's tensor_size; every element is written.
        Raises InputError for an image that is not one (see check_image) or an `out` that does not fit.
        """
        check_image(image)
        geometry = self.geometry(image.shape[0], image.shape[1])
        if out.shape != (CHANNELS, *geometry.tensor_size) or out.dtype != np.float32:
            raise InputError(
                f"preprocess: out is {out.dtype} {list(out.shape)}, expected float32 "
                f"{[CHANNELS, *geometry.tensor_size]}"
            )
        self.placed(image).write(0, 0, out)
        return geometry

    def placed(self, image: Array) -> PlacedImage:
        """The tensor of `image` uint8 [h, w, 3] BGR, to be written piece by piece. InputError, see check_image."""
        check_image(image)
        geometry = self.geometry(image.shape[0], image.shape[1])
        if geometry.resized_size != geometry.image_size:
            height, width = geometry.resized_size
            image = cv2.resize(rows_of_pixels(image), (width, height), interpolation=INTERPOLATIONS[self.interpolation])
        return PlacedImage(image, geometry, self.pad_value)


def _is_int(value: object, minimum: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= minimum
