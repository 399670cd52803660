"""The photographs behind the digits, and which split may see which. Needs scikit-image and scikit-learn ([train])."""

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray

CC0 = "CC0 1.0 (public domain)"
CC_BY = "CC BY 2.0"
GREY_DIMS = 2


@dataclass(frozen=True)
class Photograph:
    """A photograph that a wheel carries: the function or file that gives it, its licence and who made it."""

    name: str
    library: str
    licence: str
    attribution: str


# Both lists are in a fixed order: the generator draws indices. All of them load without a network.
TRAIN_PHOTOGRAPHS = (
    Photograph("astronaut", "scikit-image", "public domain", "NASA Great Images: Eileen Collins"),
    Photograph("brick", "scikit-image", CC0, "CC0Textures, Bricks25"),
    Photograph("camera", "scikit-image", CC0, "Lav Varshney"),
    Photograph("cell", "scikit-image", CC0, "Paul Müller, Mirjam Schürmann and others"),
    Photograph("china.jpg", "scikit-learn", CC_BY, "danielbuechele, flickr 6061409035"),
    Photograph("coins", "scikit-image", "no known copyright restrictions", "Brooklyn Museum, image 51611"),
    Photograph("grass", "scikit-image", CC0, "linolafett, DeviantArt: Grass 01"),
    Photograph("hubble_deep_field", "scikit-image", "public domain", "NASA, HubbleSite: eXtreme Deep Field"),
    Photograph("immunohistochemistry", "scikit-image", "no known copyright restrictions", "CMMI: colonic glands"),
    Photograph("moon", "scikit-image", "public domain", "NASA: surface of the moon"),
    Photograph("stereo_motorcycle", "scikit-image", "published for research", "Middlebury 2014 stereo"),
    Photograph("retina", "scikit-image", CC0, "Mikael Häggström, WikiJournal of Medicine 1 (2), 2014"),
)
VAL_PHOTOGRAPHS = (
    Photograph("chelsea", "scikit-image", CC0, "Stefan van der Walt"),
    Photograph("coffee", "scikit-image", CC0, "Rachel Michetti, courtesy of Pikolo Espresso Bar"),
    Photograph("flower.jpg", "scikit-learn", CC_BY, "vultilion, flickr 6056698931"),
    Photograph("gravel", "scikit-image", CC0, "CC0Textures, Gravel04"),
    Photograph("rocket", "scikit-image", "public domain", "SpaceX, flickr 16511594820: DSCOVR on Falcon 9"),
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
