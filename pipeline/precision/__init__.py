"""Calibration images, and what int8 or fp16 of each module costs."""

from pipeline.precision.calibration import feeds
from pipeline.precision.sensitivity import Harm, sensitivity

__all__ = ["Harm", "feeds", "sensitivity"]
