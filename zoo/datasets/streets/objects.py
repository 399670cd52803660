"""The objects to find: cars, pedestrians and cyclists, made of a few bodies each."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

CLASSES = ("car", "pedestrian", "cyclist")
SHARES = (0.5, 0.3, 0.2)  # of the objects of a scene
SIZES = np.array([[3.9, 1.63, 1.53], [0.8, 0.6, 1.73], [1.76, 0.6, 1.73]])
"""Mean length, width, height in metres: KITTI's."""
SPREAD = np.array([[0.35, 0.1, 0.12], [0.1, 0.07, 0.08], [0.1, 0.06, 0.07]])
DARK = 0.1  # the reflectance of a tyre

Triple = tuple[float, float, float]


class Part(NamedTuple):
    """One body: its surface, the offset of its centre from the object's, its half sides, whether it has its paint."""

    surface: str
    offset: Triple
    half: Triple
    painted: bool = True


def random_size(label: int, rng: np.random.Generator) -> NDArray[np.float64]:
    """Length, width, height of an object of a class."""
    size: NDArray[np.float64] = SIZES[label] + SPREAD[label] * rng.normal(0, 1, 3).clip(-2, 2)
    return size


def parts(label: int, size: NDArray[np.float64], rng: np.random.Generator) -> list[Part]:
    """The bodies of an object of a class, inside of its box."""
    length, width, height = size.tolist()
    return PARTS[label](length, width, height, rng)


def _car(length: float, width: float, height: float, rng: np.random.Generator) -> list[Part]:
    """Body, cabin, wheels."""
    cabin, shift = rng.uniform(0.48, 0.6), rng.uniform(-0.12, 0.0)
    body = (height * 0.55 - 0.2) / 2
    wheels = [
        Part("wheel", (x * length, y * width, -height / 2 + 0.3), (0.3, 0.1, 0.3), painted=False)
        for x in (-0.31, 0.31)
        for y in (-0.42, 0.42)
    ]
    return [
        Part("box", (0, 0, -height / 2 + 0.2 + body), (length / 2, width / 2, body)),
        Part("box", (shift * length, 0, height * 0.27), (length * cabin / 2, width * 0.43, height * 0.23)),
        *wheels,
    ]


def _pedestrian(length: float, width: float, height: float, _rng: np.random.Generator) -> list[Part]:
    """Trunk, head, two legs, an arm in front."""
    return [
        Part("cylinder", (0, 0, 0.05), (length * 0.28, width * 0.5, height * 0.28)),
        Part("ellipsoid", (0, 0, height / 2 - 0.13), (0.12, 0.1, 0.13)),
        Part("cylinder", (length * 0.2, width * 0.18, -height * 0.3), (0.1, 0.1, height * 0.2)),
        Part("cylinder", (-length * 0.2, -width * 0.18, -height * 0.3), (0.1, 0.1, height * 0.2)),
        Part("ellipsoid", (length * 0.38, -width * 0.3, 0), (0.1, 0.08, 0.3)),
    ]


def _cyclist(length: float, width: float, height: float, _rng: np.random.Generator) -> list[Part]:
    """Bicycle, handlebar, trunk, head, legs."""
    return [
        Part("box", (0, 0, -height / 2 + 0.45), (length / 2, 0.05, 0.3)),
        Part("box", (length * 0.3, 0, 0.12), (0.05, width / 2, 0.06)),
        Part("ellipsoid", (-0.05, 0, 0.22), (0.28, width * 0.42, 0.36)),
        Part("ellipsoid", (0.02, 0, height / 2 - 0.14), (0.13, 0.1, 0.14)),
        Part("box", (0, 0, -0.3), (0.2, width * 0.3, 0.3)),
    ]


PARTS: tuple[Callable[[float, float, float, np.random.Generator], list[Part]], ...] = (_car, _pedestrian, _cyclist)
