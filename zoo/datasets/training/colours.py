"""Training images in other colours."""

from typing import Any

import numpy as np
from numpy.typing import NDArray


def recolour(
    image: NDArray[Any], rng: np.random.Generator, *, negatives: float = 0.0, greys: float = 0.0
) -> NDArray[np.float32]:
    """An image uint8 [H, W, 3], BGR, in other colours: float32 [H, W, 3], RGB, 0..1.

    `negatives`, `greys`: the parts of the samples that become a negative, or grey.
    """
    pixels = np.ascontiguousarray(image[..., ::-1]).astype(np.float32) / np.float32(255)
    if rng.random() < negatives:
        pixels = 1 - pixels
    if rng.random() < greys:
        pixels = np.repeat(pixels.mean(axis=2, keepdims=True), 3, axis=2)
    gain, offset = rng.uniform(0.8, 1.2, 3), rng.uniform(-0.08, 0.08, 3)
    return np.asarray(np.clip(pixels * gain.astype(np.float32) + offset.astype(np.float32), 0, 1), np.float32)
