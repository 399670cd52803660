"""The photographs behind the digits, and which split may see which. Needs scikit-image and scikit-learn ([train])."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

GREY_DIMS = 2


@dataclass(frozen=True)
class Photograph:
    """A photograph that a wheel carries; zoo/data/digits/README.md has its licence and author.

    `name`: of the function or file of the `library` that gives it.
    """

    name: str
    library: str


# Both lists are in a fixed order: the generator draws indices. All of them load without a network.
TRAIN_PHOTOGRAPHS = (
    Photograph("astronaut", "scikit-image"),
    Photograph("brick", "scikit-image"),
    Photograph("camera", "scikit-image"),
    Photograph("cell", "scikit-image"),
    Photograph("china.jpg", "scikit-learn"),
    Photograph("coins", "scikit-image"),
    Photograph("grass", "scikit-image"),
    Photograph("hubble_deep_field", "scikit-image"),
    Photograph("immunohistochemistry", "scikit-image"),
    Photograph("moon", "scikit-image"),
    Photograph("stereo_motorcycle", "scikit-image"),
    Photograph("retina", "scikit-image"),
)
VAL_PHOTOGRAPHS = (
    Photograph("chelsea", "scikit-image"),
    Photograph("coffee", "scikit-image"),
    Photograph("flower.jpg", "scikit-learn"),
    Photograph("gravel", "scikit-image"),
    Photograph("rocket", "scikit-image"),
)


@cache
def load_photograph(photograph: Photograph) -> NDArray[np.uint8]:
    """The pixels, uint8 [H, W, 3], BGR, read-only; a grey photograph has three equal channels."""
    if photograph.library == "scikit-learn":
        from sklearn.datasets import load_sample_image

        image = np.asarray(load_sample_image(photograph.name))
    else:
        import skimage.data

        image = getattr(skimage.data, photograph.name)()
        if isinstance(image, tuple):  # a stereo pair and its disparity
            image = image[0]
    if image.ndim == GREY_DIMS:
        image = np.repeat(image[..., None], 3, axis=2)
    pixels: NDArray[np.uint8] = np.ascontiguousarray(image[..., 2::-1], dtype=np.uint8)
    pixels.setflags(write=False)
    return pixels
