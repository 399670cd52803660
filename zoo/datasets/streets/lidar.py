"""The simulated sensor: 64 beams that turn, of which the front quarter is kept, as KITTI's labels cover it."""

import numpy as np
from numpy.typing import NDArray

from zoo.input_kinds.points.small_cloud import INTENSITIES, UNITS, unpacked_cloud

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
INTENSITY = (0.0, 1.0)
"""The range of what the sensor gives."""


def measured(ranges: Array, reflectances: Array, rng: np.random.Generator) -> NDArray[np.float32]:
    """Points float32 [n, 4] of rays [64, A] that end at `ranges`, infinite for none.

    Coordinates are the middle of a centimetre, intensities one of 256 steps of 0..1: what `packed_cloud` holds.
    """
    kept = (ranges < RANGE) & (rng.random(ranges.shape) > DROPOUT)
    noisy = (ranges + rng.normal(0, RANGE_NOISE, ranges.shape))[kept]
    intensities = reflectances[kept] * np.exp(-noisy / FADING) + rng.normal(0, INTENSITY_NOISE, noisy.shape)
    return unpacked_cloud(
        {
            "centimetres": np.floor(RAYS[kept] * noisy[:, None] * UNITS),
            "steps": np.rint(intensities.clip(*INTENSITY) * INTENSITIES),
            "intensity": np.array(INTENSITY),
        }
    )
