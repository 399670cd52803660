"""Sliding windows: where they lie, and how their overlaps are blended (torch-free)."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError, nearest

WINDOW_BATCH = 8  # windows that run at once, where nobody says how many
SIGMAS_PER_WINDOW = 8
"""Of the Gaussian blend: a window's side is so many standard deviations, as nnU-Net has it."""


def _constant(crop: int) -> NDArray[np.float32]:
    return np.ones(crop, np.float32)


def _gaussian(crop: int) -> NDArray[np.float32]:
    from_center = (np.arange(crop) - (crop - 1) / 2) * (SIGMAS_PER_WINDOW / crop)
    weights: NDArray[np.float32] = np.exp(-0.5 * from_center**2).astype(np.float32)
    return weights


BLENDS: Mapping[str, Callable[[int], NDArray[np.float32]]] = {"constant": _constant, "gaussian": _gaussian}


@dataclass(frozen=True)
class Windows:
    """Windows of `crop_size` (h, w) every `stride` (h, w) pixels, `batch` of them at once.

    `blend`: "constant", the mean of the windows that cover a pixel, or "gaussian", by weights that fall from 1 in the
    middle of a window to 3e-4 at its edges (separable: the weight of a pixel is the product of its two axes').
    Raises InputError for a value out of range.
    """

    crop_size: tuple[int, int]
    stride: tuple[int, int]
    blend: str = "constant"
    batch: int = WINDOW_BATCH

    def __post_init__(self) -> None:
        for name in ("crop_size", "stride"):
            value = getattr(self, name)
            sides = tuple(value) if isinstance(value, list | tuple) else ()
            if len(sides) != 2 or not all(type(side) is int and side >= 1 for side in sides):  # noqa: PLR2004 - (h, w)
                raise InputError(f"windows: got {name} {value!r}, expected (height, width) in whole pixels")
            object.__setattr__(self, name, sides)
        if any(stride > crop for stride, crop in zip(self.stride, self.crop_size, strict=True)):
            raise InputError(
                f"windows: a stride of {self.stride} leaves gaps between windows of {self.crop_size} pixels; give a "
                "stride up to the crop_size"
            )
        if self.blend not in BLENDS:
            raise InputError(f'windows: unknown blend "{self.blend}"; {nearest(str(self.blend), BLENDS)}')
        if type(self.batch) is not int or self.batch < 1:
            raise InputError(f"windows: got batch {self.batch!r}, expected a number of windows, 1 or more")

    def to_dict(self) -> dict[str, Any]:
        """All fields as plain JSON types, which the constructor takes back."""
        return asdict(self) | {"crop_size": list(self.crop_size), "stride": list(self.stride)}

    def starts(self, size: tuple[int, int]) -> tuple[list[int], list[int]]:
        """The tops and the lefts of the windows in an image of `size` (h, w)."""
        (h_crop, w_crop), (h_stride, w_stride) = self.crop_size, self.stride
        return window_starts(size[0], h_crop, h_stride), window_starts(size[1], w_crop, w_stride)

    def weights(self) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """Of a window's rows [h] and of its columns [w]."""
        return BLENDS[self.blend](self.crop_size[0]), BLENDS[self.blend](self.crop_size[1])


def window_starts(size: int, crop: int, stride: int) -> list[int]:
    """First elements of the windows; the last window is moved inside, and one window covers an axis below the crop.

    The rule of mmseg's slide_inference. `size`, `crop` and `stride` in elements.
    """
    count = max(size - crop + stride - 1, 0) // stride + 1
    return [max(min(i * stride + crop, size) - crop, 0) for i in range(count)]
