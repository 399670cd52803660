"""Which arrays are images that a model takes."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError

MIN_SIDE = 32
OPENCV_MAX_PIXELS = 2**30  # what OpenCV reads at most; what is computed of sizes fits its 32 bits there
RESIZED_PIXELS = 2**28
CHANNELS = 3
IMAGE_DIMS = 3

Array = NDArray[Any]


def check_image(image: object, what: str = "image") -> None:
    """Raise InputError unless `image` is uint8 [H, W, 3], MIN_SIDE pixels or more a side, OPENCV_MAX_PIXELS at most.

    `what` names the image in the message. That the channels are BGR cannot be checked.
    """
    if not isinstance(image, np.ndarray):
        raise InputError(_no_array(image, what))
    fits = image.ndim == IMAGE_DIMS and image.shape[2] == CHANNELS and image.dtype == np.uint8
    if not fits or min(image.shape[:2]) < MIN_SIDE or image.shape[0] * image.shape[1] > OPENCV_MAX_PIXELS:
        raise InputError(_refusal(image, what))


def check_resized(image: Array, size: tuple[int, int]) -> None:
    """Raise InputError where a long, narrow image would be resized to more than RESIZED_PIXELS before it is cropped."""
    if size[0] * size[1] > RESIZED_PIXELS:
        raise InputError(
            f"image: {image.shape[0]}x{image.shape[1]} pixels (height x width) would be resized to "
            f"{size[0]}x{size[1]}, more than {RESIZED_PIXELS}; give a part of it"
        )


def _no_array(image: object, what: str) -> str:
    if image is None:
        return f"{what} is None: cv2.imread gives None for a file that it cannot read; check the path"
    return (
        f"{what}: got {type(image).__name__}, expected a numpy array, uint8 [H, W, 3], BGR; read files with cv2.imread"
    )


def _refusal(image: Array, what: str) -> str:
    """Of an array that is no image."""
    got = f"{what}: got {image.dtype} {list(image.shape)}, expected uint8 [H, W, 3], BGR"
    if image.size == 0:
        return f"{got}; the image is empty"
    if image.ndim == IMAGE_DIMS - 1 or (image.ndim == IMAGE_DIMS and image.shape[2] == 1):
        return f"{got}; turn a grey image into BGR with cv2.cvtColor(image, cv2.COLOR_GRAY2BGR)"
    if image.ndim == IMAGE_DIMS and image.shape[2] == CHANNELS + 1:
        return f"{got}; drop the alpha channel with image[:, :, :3]"
    if image.ndim != IMAGE_DIMS or image.shape[2] != CHANNELS:
        return f"{got}; give one image, channels last"
    if image.dtype != np.uint8:
        return f"{got}; give bytes 0..255, for example (image * 255).round().astype(numpy.uint8) for 0..1"
    return _refused_size(image, what)


def _refused_size(image: Array, what: str) -> str:
    pixels = f"{what}: got {image.shape[0]}x{image.shape[1]} pixels (height x width), expected"
    if min(image.shape[:2]) < MIN_SIDE:
        return f"{pixels} {MIN_SIDE} or more on each side; give a larger image"
    return f"{pixels} {OPENCV_MAX_PIXELS} at most, OpenCV's own bound; give a smaller image or parts of it"


def rows_of_pixels(image: Array) -> Array:
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
