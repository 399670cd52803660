"""Two restored images: how far the worst value is off, and the noise of all of them, which is minus the PSNR."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.comparison import Figure, Findings, figure, gate_failure, shape_problem

Array = NDArray[Any]

LEVELS = 255.0  # of a byte, between black and white
LEAST_NOISE = -200.0  # dB; two equal images would have minus infinity


def _noise(reference: Array, candidate: Array, psnr: float) -> Figure:
    """Minus the PSNR of two arrays of one shape, in dB: 20 log10(root mean square error / 255).

    As all figures it is better where it is lower; ``psnr``: what it must be at least.
    """
    error = reference.astype(np.float64) - candidate.astype(np.float64)
    mean = float(np.mean(error**2)) if error.size else 0.0
    decibels = max(LEAST_NOISE, 10 * float(np.log10(mean / LEVELS**2))) if mean > 0 else LEAST_NOISE
    return Figure("noise of image", "dB", decibels, decibels, None, 1, -psnr)


def compare_restored(reference: Array, candidate: Array, grey_levels: float, psnr: float) -> Findings:
    """Images uint8 [h, w, 3] of PyTorch and of a backend: no value further apart than ``grey_levels``, and the PSNR.

    Blank where the image has one colour alone.
    """
    if problem := shape_problem("image", reference, candidate):
        return Findings.broken((problem,))
    figures = (
        figure("image", reference, candidate, unit="grey levels", gate=grey_levels),
        _noise(reference, candidate, psnr),
    )
    failures = tuple(gate_failure(measured) for measured in figures if not measured.passed)
    blank = not failures and bool(reference.size == 0 or reference.min() == reference.max())
    return Findings(figures, matched=reference.size, failures=failures, blank=blank)
