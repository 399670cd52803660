"""Detectors of mmdetection, small: the section `model` of each, and live random weights."""

from tests.small_mmdet.detectors import SECTIONS, WITH_MASKS, WITH_WHOLE_MASKS, byte_images, own_results, resized, small
from tests.small_mmdet.sections import CLASSES, SIDES, SLOTS

__all__ = [
    "CLASSES",
    "SECTIONS",
    "SIDES",
    "SLOTS",
    "WITH_MASKS",
    "WITH_WHOLE_MASKS",
    "byte_images",
    "own_results",
    "resized",
    "small",
]
