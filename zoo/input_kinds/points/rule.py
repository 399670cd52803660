"""How a point cloud becomes a tensor: what its intensities may be, and how many points the tensor holds."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError, nearest

LARGE_RANGE, FRACTIONS = 10.0, 1.0
"""A sensor that counts to more than LARGE_RANGE gives integers, or fractions beyond FRACTIONS as well."""


@dataclass(frozen=True)
class PointsRule:
    """The section `preprocess` of a model that takes points.

    `intensity`: the lowest and the highest intensity that the model was trained with, such as (0, 1) or (0, 255). A
    cloud of another scale gives wrong results and no error in any graph, so every call checks it.
    `count`: the fewest and the most points of a tensor; of a deployment, by its target. A config leaves it out.
    """

    intensity: tuple[float, float] = (0.0, 1.0)
    count: tuple[int, int] | None = None

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """From a config or a manifest. Raises InputError with all faults in one message."""
        names = [field.name for field in fields(cls)]
        faults = [f'unknown key "{key}"; {nearest(str(key), names)}' for key in content if key not in names]
        intensity, count = content.get("intensity", cls.intensity), content.get("count")
        if not _rising(intensity, int | float) or intensity[0] == intensity[1]:
            faults.append(f"got intensity {intensity!r}, expected (lowest, highest), for example (0, 1)")
        if count is not None and not (_rising(count, int) and count[0] >= 1):
            faults.append(f"got count {count!r}, expected (fewest, most) points of a tensor, 1 or more")
        if faults:
            raise InputError(f"preprocess: {'; '.join(faults)}")
        low, high = (float(value) for value in intensity)
        return cls((low, high), None if count is None else (int(count[0]), int(count[1])))

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, as a manifest keeps it."""
        return {"intensity": list(self.intensity), "count": None if self.count is None else list(self.count)}

    def check(self, cloud: NDArray[np.float32], what: str) -> None:
        """Raise InputError for a cloud float32 [n, 4] of other intensities, and for one of too many points.

        `cloud`: of finite points.
        """
        if self.count is not None and len(cloud) > self.count[1]:
            raise InputError(
                f"{what}: {len(cloud)} points, this model takes up to {self.count[1]}; deploy it with --dynamic "
                f"count={self.count[0]}:{self.count[1]}:{len(cloud)}, or leave points out yourself"
            )
        if not len(cloud):
            return
        (low, high), intensities = self.intensity, cloud[:, 3]
        least, most = float(intensities.min()), float(intensities.max())
        if least < low or most > high:
            raise InputError(
                f"{what}: intensities from {least:g} to {most:g}, the model was trained with {low:g} to {high:g}; "
                "scale the fourth column"
            )
        if high > LARGE_RANGE and most <= FRACTIONS and bool((intensities % 1 != 0).any()):
            raise InputError(
                f"{what}: intensities are fractions up to {most:g}, the model was trained with {low:g} to {high:g}; "
                f"multiply the fourth column by {high:g}"
            )


def _rising(pair: object, kind: Any) -> bool:
    return (
        isinstance(pair, list | tuple)
        and len(pair) == 2  # noqa: PLR2004 - a pair
        and all(isinstance(value, kind) and not isinstance(value, bool) and math.isfinite(value) for value in pair)
        and pair[0] <= pair[1]
    )
