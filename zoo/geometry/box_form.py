"""How boxes are written as numbers, and how far two of them are apart: what every comparison of boxes asks."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]


class Compared(NamedTuple):
    """Numbers float64 [n, v] of two rows of boxes, in one unit: those of one row are equal if the boxes are."""

    first: Floats
    second: Floats


class BoxForm(ABC):
    """A form of boxes, as rows of numbers. Boxes that are compared are in one frame."""

    columns: ClassVar[tuple[str, ...]]
    """The names of a box's numbers."""
    units: ClassVar[Mapping[str, str]]
    """The gates that errors of its boxes have, and the unit of each."""

    @abstractmethod
    def iou(self, first: Array, second: Array) -> Floats:
        """Intersection over union of boxes [n, c] and [m, c] -> [n, m]; 0 where both boxes are empty."""

    @abstractmethod
    def compared(self, first: Array, second: Array) -> Mapping[str, Compared]:
        """What is compared of boxes [n, c] and [n, c], row by row, by the name of its gate: the keys of `units`.

        Where several rows of numbers are the same box, the second's are those that are nearest to the first's.
        """

    def rows(self, boxes: Array) -> Array:
        """Boxes [..., c] of candidates as numbers [..., v] in the unit of the first gate, to be compared one by one.

        The numbers of a candidate come from the same place of the model, and have one form.
        """
        return boxes

    def errors(self, first: Array, second: Array) -> dict[str, Floats]:
        """The largest error of each pair of boxes [n, c] and [m, c], by the name of its gate: [n, m]."""
        errors = {name: np.zeros((len(first), len(second))) for name in self.units}
        for row, box in enumerate(first):  # of all pairs together there may be a gigabyte
            for name, (one, other) in self.compared(np.broadcast_to(box, second.shape), second).items():
                errors[name][row] = np.abs(one - other).max(axis=1, initial=0.0)
        return errors

    def within(self, first: Array, second: Array, gates: Mapping[str, float]) -> NDArray[np.bool_]:
        """Whether all errors of each pair keep their gates: [n, m]."""
        inside: NDArray[np.bool_] = np.all(
            [error <= gates[name] for name, error in self.errors(first, second).items()], axis=0
        )
        return inside

    def distance(self, first: Array, second: Array) -> str:
        """The errors of two boxes [c] in words: "0.12 px"."""
        errors = self.errors(first[None], second[None])
        return " and ".join(f"{error[0, 0]:.3g} {self.units[name]}" for name, error in errors.items())

    def text(self, box: Array, digits: int) -> str:
        """One box [c], its numbers with so many decimals."""
        return ", ".join(f"{value:.{digits}f}" for value in box)
