"""The objects found in one image."""

from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.tasks.result import Result, frozen_array

BOX_SIDES = 4


@dataclass(frozen=True, eq=False)
class DetectionResult(Result):
    """n detections in the model's order, best score first. Arrays are read-only; equal by value.

    `boxes` float32 [n, 4]: x1 y1 x2 y2 in pixels of the image. `scores` float32 [n], 0..1. `labels` int64 [n]: the
    model's own ids, an index into the task's classes. Raises InputError where the lengths differ.
    """

    boxes: NDArray[np.float32]
    scores: NDArray[np.float32]
    labels: NDArray[np.int64]

    def __post_init__(self) -> None:
        for field in fields(self):
            dtype = np.int64 if field.name == "labels" else np.float32
            object.__setattr__(self, field.name, frozen_array(getattr(self, field.name), dtype))
        count = len(self.scores)
        if self.boxes.shape != (count, BOX_SIDES) or self.scores.shape != (count,) or self.labels.shape != (count,):
            raise InputError(
                f"detections: got boxes {list(self.boxes.shape)}, scores {list(self.scores.shape)}, labels "
                f"{list(self.labels.shape)}; expected [n, {BOX_SIDES}], [n], [n]"
            )

    def finite(self) -> Self:
        """Without those whose score or box is NaN or infinite: nothing pairs or draws them."""
        return self[np.isfinite(self.scores) & np.isfinite(self.boxes).all(axis=1)]

    def __len__(self) -> int:
        return len(self.scores)

    def __getitem__(self, index: slice | NDArray[Any]) -> Self:
        """Some of the detections: a slice, a boolean mask [n] or indices, for example `result[result.scores > 0.5]`."""
        return type(self)(**{field.name: getattr(self, field.name)[index] for field in fields(self)})
