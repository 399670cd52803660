"""An image as few bytes, from which every machine makes the same tensor."""

import cv2
import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.preprocess import MAX_BYTE


def to_png(image: NDArray[np.uint8], effort: int = 9) -> NDArray[np.uint8]:
    """The bytes [n] of a PNG file of an image uint8 [h, w, 3] BGR: lossless, whatever decodes it.

    `effort`: 0 to 9, for a smaller file.
    """
    good, content = cv2.imencode(".png", image, [cv2.IMWRITE_PNG_COMPRESSION, effort])
    if not good:
        raise InputError(f"an image of {image.shape[1]}x{image.shape[0]} pixels cannot be written as PNG")
    return content.reshape(-1).astype(np.uint8)


def enlarged(image: NDArray[np.uint8], size: tuple[int, int]) -> NDArray[np.uint8]:
    """An image uint8 [h, w, 3] at `size` (H, W); the image itself where it has that size.

    By OpenCV's bit-exact resize: all of its other kinds round as the CPU's instructions do.
    """
    if image.shape[:2] == size:
        return image
    return cv2.resize(image, size[::-1], interpolation=cv2.INTER_LINEAR_EXACT).astype(np.uint8, copy=False)


def tensor_of(png: NDArray[np.uint8], batch: int, size: tuple[int, int]) -> NDArray[np.float32]:
    """The graph's `images` float32 [batch, 3, H, W], RGB, 0..1: the PNG's image at `size` (H, W), in every slot.

    Raises InputError where the bytes are no PNG.
    """
    image = cv2.imdecode(png, cv2.IMREAD_COLOR)
    if image is None:
        raise InputError("the self-test's image is not a PNG that OpenCV can read")
    planes = enlarged(image.astype(np.uint8, copy=False), size)[..., ::-1].transpose(2, 0, 1)
    tensor = (planes / np.float32(MAX_BYTE)).astype(np.float32)
    return np.ascontiguousarray(np.broadcast_to(tensor, (batch, *tensor.shape)))
