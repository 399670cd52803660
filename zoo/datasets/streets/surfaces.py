"""Where rays from the origin meet a body: boxes, ellipsoids, cylinders."""

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def box_hits(origin: Array, rays: Array, half: Array) -> Array:
    """Distances [...] of rays [..., 3] from `origin` to an upright box around 0 of these half sides, or infinite."""
    with np.errstate(divide="ignore", invalid="ignore"):
        inverse = 1 / rays
        one, other = (-half - origin) * inverse, (half - origin) * inverse
    near, far = np.minimum(one, other).max(axis=-1), np.maximum(one, other).min(axis=-1)
    return np.where((far >= near) & (near > 0), near, np.inf)


def ellipsoid_hits(origin: Array, rays: Array, half: Array) -> Array:
    """As `box_hits`, of an ellipsoid of these half axes."""
    return _nearest(origin / half, rays / half)


def cylinder_hits(origin: Array, rays: Array, half: Array) -> Array:
    """As `box_hits`, of the side of an upright elliptic cylinder; half axes and half height."""
    distance = _nearest(origin[:2] / half[:2], rays[..., :2] / half[:2])
    with np.errstate(invalid="ignore"):
        height = origin[2] + distance * rays[..., 2]
    return np.where(np.abs(height) < half[2], distance, np.inf)


def wheel_hits(origin: Array, rays: Array, half: Array) -> Array:
    """As `cylinder_hits`, of a cylinder whose axis is y; half axes in x and z and half width are `half` x z y."""
    order = [0, 2, 1]
    return cylinder_hits(origin[order], rays[..., order], half[order])


def _nearest(origin: Array, rays: Array) -> Array:
    """The nearest distance at which |origin + t rays| = 1, infinite where none is before the origin."""
    a, b, c = (rays * rays).sum(axis=-1), (rays * origin).sum(axis=-1), float((origin * origin).sum()) - 1
    rest = b * b - a * c
    with np.errstate(divide="ignore", invalid="ignore"):
        distance = (-b - np.sqrt(np.maximum(rest, 0))) / a
    return np.where((rest > 0) & (distance > 0), distance, np.inf)


SURFACES: Mapping[str, Callable[[Array, Array, Array], Array]] = {
    "box": box_hits,
    "ellipsoid": ellipsoid_hits,
    "cylinder": cylinder_hits,
    "wheel": wheel_hits,
}
