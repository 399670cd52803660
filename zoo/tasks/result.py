"""What a model found in one input: the base of all results."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray


@dataclass(frozen=True, eq=False)
class Result:
    """Immutable: a subclass is a frozen dataclass of read-only arrays, in the coordinates of its input.

    Equal by value: of one class, and every array of the same dtype, shape and content. Subclasses say `eq=False`, or
    dataclasses would compare arrays by themselves.
    """

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        pairs = [(getattr(self, field.name), getattr(other, field.name)) for field in fields(self)]
        return all(one.dtype == two.dtype and np.array_equal(one, two) for one, two in pairs)

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash


def frozen_array(values: ArrayLike, dtype: DTypeLike | None = None) -> NDArray[Any]:
    """A read-only view of `values`, converted to `dtype` where it differs. The caller's own array stays writable."""
    view = np.asarray(values, dtype).view()
    view.setflags(write=False)
    return view
