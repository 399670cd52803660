"""Symbolic rewriters: operators of torch and torchvision that an exporter cannot write, or writes wrongly."""

from rewriters.symbolic import cdist, deform_conv2d, elementwise, grid_sample, roi_pooling, roll, sort
from rewriters.symbolic.declaration import SYMBOLIC_REWRITERS, operators_for, symbolic, symbolic_for

__all__ = [
    "SYMBOLIC_REWRITERS",
    "cdist",
    "deform_conv2d",
    "elementwise",
    "grid_sample",
    "operators_for",
    "roi_pooling",
    "roll",
    "sort",
    "symbolic",
    "symbolic_for",
]
