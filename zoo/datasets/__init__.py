"""Data sets, as the zoo's tasks read them. Importing this package registers them."""

from zoo.datasets.digits import DIGITS_ROOT, DigitsDetection, DigitsSegmentation
from zoo.datasets.digits_training import DigitsTraining

__all__ = ["DIGITS_ROOT", "DigitsDetection", "DigitsSegmentation", "DigitsTraining"]
