"""Pillars that the host makes of points: where they are, and how many points of each are kept (torch-free)."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zoo.errors import InputError
from zoo.target import PILLARS, AxisRange

LEVEL = PILLARS
"""The output level at which the host makes them: a deployment of it gives what level final gives."""
AXIS = "pillars"
"""The axis of a file's inputs that counts them."""


@dataclass(frozen=True)
class Pillars:
    """`low` and `high`: x y z in metres, the upper ends excluded; `side` of a pillar in metres; `size`: pillars along y
    and along x.

    `slots`: points of a pillar that are kept, the first ones of the cloud. `count`: the pillars of a cloud that a file
    takes, least, usual and most. Raises InputError for a value out of range.
    """

    low: tuple[float, float, float]
    high: tuple[float, float, float]
    side: float
    size: tuple[int, int]
    slots: int
    count: AxisRange

    def __post_init__(self) -> None:
        if type(self.slots) is not int or self.slots < 1:
            raise InputError(f"pillars: got slots {self.slots!r}, expected a number of points, 1 or more")
        if not self.side > 0 or any(low >= high for low, high in zip(self.low, self.high, strict=True)):
            raise InputError(f"pillars: got {self.low} to {self.high} by {self.side}, expected rising ends and a side")

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, which `from_dict` takes back."""
        count = {"min": self.count.min, "opt": self.count.opt, "max": self.count.max}
        places = {name: list(getattr(self, name)) for name in ("low", "high", "size")}
        return {**places, "side": self.side, "slots": self.slots, "count": count}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> "Pillars":
        """The inverse."""
        places = {name: tuple(fields[name]) for name in ("low", "high", "size")}
        return cls(**{**fields, **places, "count": AxisRange(**fields["count"])})
