"""The class of every pixel of one image."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.tasks.result import Result, frozen_array

MAP_DIMS = 2


@dataclass(frozen=True, eq=False)
class SegmentationResult(Result):
    """`label_map` uint8 or int32 [h, w] of the image's size: the model's own class ids. Read-only; equal by value."""

    label_map: NDArray[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "label_map", frozen_array(self.label_map))
        if self.label_map.ndim != MAP_DIMS or self.label_map.dtype not in (np.uint8, np.int32):
            raise InputError(
                f"label map: got {self.label_map.dtype} {list(self.label_map.shape)}, expected uint8 or int32 [h, w]"
            )
