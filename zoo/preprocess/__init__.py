"""From an image to the tensor that a graph takes, and from the tensor's frame back to the image's (torch-free).

The host resizes (or keeps) an image, cuts out its centre or pads it at the right and bottom, turns BGR into RGB and
divides by 255. Mean, standard deviation and another order of the channels are applied inside the graph, whose input is
always RGB, 0..1. No temporary float image is made: the resized image is split into planes of bytes, and each is divided
straight into its place in the tensor.
"""

from zoo.preprocess.geometry import Geometry
from zoo.preprocess.image_check import CHANNELS, MIN_SIDE, OPENCV_MAX_PIXELS, Array, check_image
from zoo.preprocess.placed_image import MAX_BYTE, PlacedImage
from zoo.preprocess.resampling import INTERPOLATIONS, resampled
from zoo.preprocess.rule import CHANNEL_ORDERS, CROP_ROUNDINGS, SIDE_ROUNDINGS, Preprocess
from zoo.preprocess.rule_faults import RESIZES
from zoo.preprocess.sizes import rounded_up

__all__ = [
    "CHANNELS",
    "CHANNEL_ORDERS",
    "CROP_ROUNDINGS",
    "INTERPOLATIONS",
    "MAX_BYTE",
    "MIN_SIDE",
    "OPENCV_MAX_PIXELS",
    "RESIZES",
    "SIDE_ROUNDINGS",
    "Array",
    "Geometry",
    "PlacedImage",
    "Preprocess",
    "check_image",
    "resampled",
    "rounded_up",
]
