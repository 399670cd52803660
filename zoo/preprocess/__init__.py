"""From an image to the tensor that a graph takes, and from the tensor's frame back to the image's (torch-free).

The host resizes (or keeps) an image, pads it at the right and bottom, turns BGR into RGB and divides by 255. Mean and
standard deviation are applied inside the graph, whose input is always 0..1. No temporary float image is made: the
resized image is split into planes of bytes, and each is divided straight into its place in the tensor.
"""

from zoo.preprocess.geometry import Geometry
from zoo.preprocess.image_check import CHANNELS, MIN_SIDE, OPENCV_MAX_PIXELS, Array, check_image
from zoo.preprocess.rule import INTERPOLATIONS, MAX_BYTE, RESIZES, PlacedImage, Preprocess

__all__ = [
    "CHANNELS",
    "INTERPOLATIONS",
    "MAX_BYTE",
    "MIN_SIDE",
    "OPENCV_MAX_PIXELS",
    "RESIZES",
    "Array",
    "Geometry",
    "PlacedImage",
    "Preprocess",
    "check_image",
]
