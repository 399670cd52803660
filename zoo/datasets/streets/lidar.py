"""The simulated sensor: 64 beams that turn, of which the front quarter is kept, as KITTI's labels cover it."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

HEIGHT = 1.73  # metres above the ground
RANGE = 45.0  # metres
STEP = 0.32  # degrees between two columns; KITTI's sensor has 0.08 to 0.35, by how fast it turns
AZIMUTHS: Array = np.deg2rad(np.arange(-45, 45, STEP))
ELEVATIONS: Array = np.deg2rad(np.concatenate((np.linspace(2, -8.33, 32), np.linspace(-8.83, -24.33, 32))))
"""The two halves of an HDL-64E's beams have two spacings."""
RAYS: Array = np.stack(
    (
        np.cos(ELEVATIONS)[:, None] * np.cos(AZIMUTHS),
        np.cos(ELEVATIONS)[:, None] * np.sin(AZIMUTHS),
        np.repeat(np.sin(ELEVATIONS)[:, None], len(AZIMUTHS), axis=1),
    ),
    axis=-1,
)
"""Directions [64, A, 3] of length 1: x forward, y left, z up; the sensor is the origin."""
RANGE_NOISE, DROPOUT, INTENSITY_NOISE = 0.02, 0.06, 0.03  # metres; part of the rays; of 0..1
FADING = 80.0  # metres over which an intensity falls to a third
CENTIMETRES = 100


def measured(
    ranges: Array, reflectances: Array, rng: np.random.Generator
) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    """Points float32 [n, 4] of rays [64, A] that end at `ranges`, infinite for none; and which rays they are of.

    Coordinates are the middle of a centimetre, intensities one of 256 steps of 0..1: what int16 and uint8 hold. The
    middle, so that no point is on the edge of a cell whose sides are whole centimetres.
    """
    kept = (ranges < RANGE) & (rng.random(ranges.shape) > DROPOUT)
    noisy = (ranges + rng.normal(0, RANGE_NOISE, ranges.shape))[kept]
    intensities = reflectances[kept] * np.exp(-noisy / FADING) + rng.normal(0, INTENSITY_NOISE, noisy.shape)
    return cloud_of(np.floor(RAYS[kept] * noisy[:, None] * CENTIMETRES), np.rint(intensities.clip(0, 1) * 255)), kept


def cloud_of(centimetres: NDArray[np.generic], steps: NDArray[np.generic]) -> NDArray[np.float32]:
    """Points float32 [n, 4] of whole centimetres [n, 3], rounded down, and intensities in 255 steps [n]."""
    coordinates = (centimetres.astype(np.float64) + 0.5) / CENTIMETRES
    return np.concatenate((coordinates, steps.astype(np.float64)[:, None] / 255), axis=1).astype(np.float32)
