"""From an image to the tensor that a graph takes, and from the tensor's frame back to the image's (torch-free).

The whole of preprocessing is: resize (or keep), pad at the right and bottom, BGR to RGB, divide by 255. Mean and
standard deviation are inside the graph. No temporary float image is made: the resized image is split into planes of
bytes, and each is divided straight into its place in the tensor.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError, nearest

MIN_SIDE = 32
OPENCV_MAX_PIXELS = 2**30  # what OpenCV reads at most; what is computed of sizes fits its 32 bits there
MAX_BYTE = 255
CHANNELS = 3
IMAGE_DIMS = 3
RESIZES = ("letterbox", "stretch", "keep")
INTERPOLATIONS = {"bilinear": cv2.INTER_LINEAR, "nearest": cv2.INTER_NEAREST, "area": cv2.INTER_AREA}

Array = NDArray[Any]


def check_image(image: object, what: str = "image") -> None:
    """Raise InputError unless `image` is uint8 [H, W, 3], MIN_SIDE pixels or more a side, OPENCV_MAX_PIXELS at most.

    `what` names the image in the message. That the channels are BGR cannot be checked.
    """
    if image is None:
        raise InputError(f"{what} is None: cv2.imread gives None for a file that it cannot read; check the path")
    if not isinstance(image, np.ndarray):
        raise InputError(
            f"{what}: got {type(image).__name__}, expected a numpy array, uint8 [H, W, 3], BGR; "
            "read files with cv2.imread"
        )
    got = f"{what}: got {image.dtype} {list(image.shape)}, expected uint8 [H, W, 3], BGR"
    if image.size == 0:
        raise InputError(f"{got}; the image is empty")
    if image.ndim == IMAGE_DIMS - 1 or (image.ndim == IMAGE_DIMS and image.shape[2] == 1):
        raise InputError(f"{got}; turn a grey image into BGR with cv2.cvtColor(image, cv2.COLOR_GRAY2BGR)")
    if image.ndim == IMAGE_DIMS and image.shape[2] == CHANNELS + 1:
        raise InputError(f"{got}; drop the alpha channel with image[:, :, :3]")
    if image.ndim != IMAGE_DIMS or image.shape[2] != CHANNELS:
        raise InputError(f"{got}; give one image, channels last")
    if image.dtype != np.uint8:
        raise InputError(f"{got}; give bytes 0..255, for example (image * 255).round().astype(numpy.uint8) for 0..1")
    if min(image.shape[:2]) < MIN_SIDE:
        raise InputError(
            f"{what}: got {image.shape[0]}x{image.shape[1]} pixels (height x width), expected {MIN_SIDE} or more on "
            "each side; give a larger image"
        )
    if image.shape[0] * image.shape[1] > OPENCV_MAX_PIXELS:
        raise InputError(
            f"{what}: got {image.shape[0]}x{image.shape[1]} pixels (height x width), expected {OPENCV_MAX_PIXELS} at "
            "most, OpenCV's own bound; give a smaller image or parts of it"
        )


def _rows_of_pixels(image: Array) -> Array:
    """The image with its pixels side by side in each row, as OpenCV takes it; a copy where they are not.

    OpenCV would make the copy itself, and crash where the memory for it is not there.
    """
    height, width, channels = image.shape
    rows, columns, bytes_ = image.strides
    if (columns, bytes_) == (channels, 1) and rows >= width * channels:
        return image
    try:
        return np.ascontiguousarray(image)
    except MemoryError as error:
        raise InputError(
            f"image: {height}x{width} pixels (height x width) with strides {image.strides} need a copy of "
            f"{image.size} bytes, and there is no memory for it; give a smaller image"
        ) from error


class Geometry(NamedTuple):
    """Where an image lies in its tensor: resized, then placed at the top left. Sizes: (height, width) in pixels."""

    image_size: tuple[int, int]
    resized_size: tuple[int, int]
    tensor_size: tuple[int, int]

    def boxes_to_image(self, boxes: Array, *, clip: bool = True) -> NDArray[np.float32]:
        """Boxes x1 y1 x2 y2 [n, 4] from the tensor's pixels to the image's, clipped to the image. A new array.

        Without `clip` a box may reach past the image, where the tensor was padded.
        """
        moved: NDArray[np.float32] = boxes.astype(np.float32) * self._image_per_tensor()
        if not clip:
            return moved
        height, width = self.image_size
        bounds = np.array((width, height, width, height), np.float32)
        clipped: NDArray[np.float32] = np.minimum(np.maximum(moved, np.float32(0), out=moved), bounds, out=moved)
        return clipped

    def boxes_to_tensor(self, boxes: Array) -> NDArray[np.float32]:
        """Boxes x1 y1 x2 y2 [n, 4] from the image's pixels to the tensor's. A new array, not clipped."""
        moved: NDArray[np.float32] = boxes.astype(np.float32) / self._image_per_tensor()
        return moved

    def points_to_image(self, points: Array) -> NDArray[np.float32]:
        """Points [..., 2] (x, y) from the tensor's pixels to the image's. A new array, not clipped."""
        moved: NDArray[np.float32] = points.astype(np.float32) * self._image_per_tensor()[:2]
        return moved

    def label_map_to_image(self, label_map: Array) -> Array:
        """A label map [H, W] of the tensor -> [h, w] of the image: padding cut off, nearest neighbour. A new array.

        The nearest pixel is found between pixel centres, as in the bilinear resize of the image.
        """
        height, width = self.resized_size
        valid = label_map[:height, :width]
        if self.resized_size == self.image_size:
            return valid.copy()
        return cv2.resize(valid, self.image_size[::-1], interpolation=cv2.INTER_NEAREST_EXACT)

    def _image_per_tensor(self) -> NDArray[np.float32]:
        y = self.image_size[0] / self.resized_size[0]
        x = self.image_size[1] / self.resized_size[1]
        return np.array((x, y, x, y), np.float32)


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
        planes = cv2.split(_rows_of_pixels(piece)) if piece.size else ()  # a window may lie in the padding alone
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
    """

    size: tuple[int, int] | None
    resize: str = "letterbox"
    interpolation: str = "bilinear"
    pad_value: int = 114
    size_divisor: int = 32

    def __post_init__(self) -> None:
        for name, known in (("resize", RESIZES), ("interpolation", tuple(INTERPOLATIONS))):
            value = getattr(self, name)
            if value not in known:
                raise InputError(f'preprocess: unknown {name} "{value}"; {nearest(str(value), known)}')
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
        if not (_is_int(self.pad_value, 0) and self.pad_value <= MAX_BYTE):
            raise InputError(f"preprocess: got pad_value {self.pad_value!r}, expected an integer from 0 to {MAX_BYTE}")
        if not _is_int(self.size_divisor, 1):
            raise InputError(f"preprocess: got size_divisor {self.size_divisor!r}, expected an integer, 1 or more")

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
        """All fields as plain JSON types; from_dict reads it back."""
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return fields | {"size": None if self.size is None else list(self.size)}

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
            image = cv2.resize(
                _rows_of_pixels(image), (width, height), interpolation=INTERPOLATIONS[self.interpolation]
            )
        return PlacedImage(image, geometry, self.pad_value)


def _is_int(value: object, minimum: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= minimum
