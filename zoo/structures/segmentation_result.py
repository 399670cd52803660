"""The class of every pixel of one image."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.structures.frozen_array import frozen_array

MAP_DIMS = 2


@dataclass(frozen=True, eq=False)
class SegmentationResult:
    """`label_map` uint8 or int32 [h, w] of the image's size: the model's own class ids. Read-only; equal by value."""

    label_map: NDArray[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "label_map", frozen_array(self.label_map))
        if self.label_map.ndim != MAP_DIMS or self.label_map.dtype not in (np.uint8, np.int32):
            raise InputError(
                f"label map: got {self.label_map.dtype} {list(self.label_map.shape)}, expected uint8 or int32 [h, w]"
            )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, SegmentationResult):
            return NotImplemented
        return self.label_map.dtype == other.label_map.dtype and np.array_equal(self.label_map, other.label_map)

    __hash__ = None  # type: ignore[assignment]  # arrays have no hash
