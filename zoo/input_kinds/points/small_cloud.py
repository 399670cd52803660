"""A point cloud in few bytes, which are the same tensor on every machine: what self-tests and stored scenes keep."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

UNITS = 100  # of a metre
INTENSITIES = 255  # steps
LAST = np.iinfo(np.int16).max


def packed_cloud(cloud: NDArray[np.float32], intensity: tuple[float, float]) -> dict[str, NDArray[Any]]:
    """Of points float32 [n, 4]: x y z in centimetres int16 [n, 3], and the `intensity` range in 255 steps, uint8 [n].

    Coordinates are rounded to the middle of their centimetre, because cells of a model often end at whole ones.
    Points that are further away than 327 m are left out.
    """
    low, high = intensity
    centimetres = np.floor(cloud[:, :3].astype(np.float64) * UNITS)
    near = (np.abs(centimetres) <= LAST).all(axis=1)
    steps = np.rint((cloud[near, 3].astype(np.float64) - low) / (high - low) * INTENSITIES)
    return {
        "centimetres": centimetres[near].astype(np.int16),
        "steps": np.clip(steps, 0, INTENSITIES).astype(np.uint8),
        "intensity": np.array(intensity, np.float64),
    }


def unpacked_cloud(packed: Mapping[str, NDArray[Any]]) -> NDArray[np.float32]:
    """The points float32 [n, 4] of `packed_cloud`, by divisions that every machine rounds alike."""
    low, high = packed["intensity"].tolist()
    cloud = np.empty((len(packed["centimetres"]), 4), np.float32)
    cloud[:, :3] = (packed["centimetres"].astype(np.float64) + 0.5) / UNITS
    cloud[:, 3] = np.clip(low + packed["steps"].astype(np.float64) / INTENSITIES * (high - low), low, high)
    return cloud
