"""One image, enlarged."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError
from zoo.tasks.result import Result, frozen_array

IMAGE_DIMS = 3


@dataclass(frozen=True, eq=False, repr=False)
class SuperResolutionResult(Result):
    """`image` uint8 [h * s, w * s, 3] BGR: the whole image, s times enlarged. Read-only; equal by value."""

    image: NDArray[Any]

    def __post_init__(self) -> None:
        object.__setattr__(self, "image", frozen_array(self.image))
        if self.image.ndim != IMAGE_DIMS or self.image.shape[2] != IMAGE_DIMS or self.image.dtype != np.uint8:
            raise InputError(f"image: got {self.image.dtype} {list(self.image.shape)}, expected uint8 [h, w, 3]")

    def to_dict(self) -> dict[str, Any]:
        """{"size": [h, w]}: the pixels are no JSON."""
        return {"size": list(self.image.shape[:2])}

    def summary(self) -> str:
        """Its size."""
        return f"an image of {self.image.shape[1]}x{self.image.shape[0]} pixels"
