"""A config's section `preprocess`: how an image becomes the tensor `images`."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from zoo.errors import InputError, nearest
from zoo.preprocess.geometry import Array, Geometry
from zoo.preprocess.image_check import CHANNELS, check_image, check_resized, rows_of_pixels
from zoo.preprocess.normalization import channel_numbers, padding_bytes
from zoo.preprocess.placed_image import PlacedImage
from zoo.preprocess.resampling import INTERPOLATIONS, resampled
from zoo.preprocess.rule_faults import (
    OWN_KEYS,
    RESIZES,
    WITHOUT_SIZE,
    checked_sides,
    checked_size,
    edge_faults,
    key_faults,
    number_fault,
    rounding_fault,
)
from zoo.preprocess.sizes import (
    Size,
    crop_offset,
    letterbox_size,
    nearest_scale_size,
    padded_size,
    scaled_edge_size,
    shortest_edge_size,
)

CHANNEL_ORDERS = ("rgb", "bgr")
CROP_ROUNDINGS = ("down", "even")
SIDE_ROUNDINGS = ("usual", "half_up")
CHOICES = {
    "resize": RESIZES,
    "interpolation": INTERPOLATIONS,
    "crop_rounding": CROP_ROUNDINGS,
    "side_rounding": SIDE_ROUNDINGS,
    "channel_order": CHANNEL_ORDERS,
}
ALWAYS_KEPT = ("size", "resize", "interpolation", "pad_value", "size_divisor")


@dataclass(frozen=True)
class Preprocess:
    """How an image becomes the tensor `images`. Frozen; InputError for a field out of range.

    `size`: (height, width) of the tensor in pixels; None where it follows from the image.
    `resize`:
    - "letterbox" keeps the aspect ratio: scale = min(H / h, W / w), each side max(1, round(side * scale)), the rest of
      the tensor is `pad_value`;
    - "stretch" fills the tensor;
    - "keep" takes the image as it is and pads it up to multiples of `size_divisor`, for graphs with dynamic height and
      width; `size` is None;
    - "shortest" resizes the shorter edge to `shortest_edge`, the other in proportion, but not beyond `longest_edge`,
      and each side up to a multiple of `multiple_of` (see sizes.shortest_edge_size). With a `size` the centre of that
      size is cut out, where `crop_rounding` says what becomes of half a pixel: "down", or to the "even" number. Without
      one the image is padded up to multiples of `size_divisor`, as by "keep";
    - "nearest_scale" resizes by the scale that fits the height or the width of `fit_size`, (height, width) in pixels,
      whichever is nearer to 1, each side to the nearest multiple of `multiple_of` (see sizes.nearest_scale_size). Then
      it pads as "keep" does; `size` is None.
    `side_rounding`: "half_up" makes both sides int(side * scale + 0.5), as mmcv does; "usual" rounds as the rule says.
    `interpolation`: "bilinear", "nearest", "area", "antialias" or "antialias_bicubic". `pad_value`: a byte, of all
    channels, or three numbers 0..255, of red, green and blue; the mean pads what becomes 0 when it is normalised.
    `mean`, `std`: of the three channels, in units of the tensor's 0..1. The graph itself subtracts the mean and divides
    by the standard deviation; the tensor that is made here stays 0..1. None: the graph does neither.
    `channel_order`: of the images that the model takes, and of mean and std. The tensor is RGB; the graph turns it into
    "bgr".
    """

    size: tuple[int, int] | None
    resize: str = "letterbox"
    interpolation: str = "bilinear"
    pad_value: int | tuple[float, float, float] = 114
    size_divisor: int = 32
    mean: tuple[float, float, float] | None = None
    std: tuple[float, float, float] | None = None
    shortest_edge: int | None = None
    longest_edge: int | None = None
    multiple_of: int = 1
    crop_rounding: str = "down"
    channel_order: str = "rgb"
    side_rounding: str = "usual"
    fit_size: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        for name, known in CHOICES.items():
            value = getattr(self, name)
            if value not in known:
                raise InputError(f'preprocess: unknown {name} "{value}"; {nearest(str(value), known)}')
        object.__setattr__(self, "size", checked_size(self.size, self.resize))
        if self.fit_size is not None:
            object.__setattr__(self, "fit_size", checked_sides("fit_size", self.fit_size))
        if not isinstance(self.pad_value, int):
            object.__setattr__(self, "pad_value", padding_bytes(self.pad_value))
        numbers = number_fault(self.pad_value, self.size_divisor)
        faults = (numbers, *key_faults(self), *edge_faults(self), rounding_fault(self))
        if fault := next(filter(None, faults), None):
            raise InputError(f"preprocess: {fault}")
        if (self.mean is None) != (self.std is None):
            present, absent = ("mean", "std") if self.std is None else ("std", "mean")
            raise InputError(f"preprocess: got {present} without {absent}; give both, or neither")
        for name in ("mean", "std"):
            if (values := getattr(self, name)) is not None:
                object.__setattr__(self, name, channel_numbers(name, values))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """From a config's or a manifest's mapping. Raises InputError for an unknown key, naming the nearest."""
        known = tuple(cls.__dataclass_fields__)
        for key in fields:
            if key not in known:
                raise InputError(f'preprocess: unknown key "{key}"; {nearest(str(key), known)}')
        if "size" not in fields and fields.get("resize") not in ("shortest", *WITHOUT_SIZE):
            raise InputError("preprocess: no size; give size=(height, width)")
        return cls(**{"size": None, **fields})

    def to_dict(self) -> dict[str, Any]:
        """The fields as plain JSON types; from_dict reads it back.

        Those behind `size_divisor` only where they are not the default ones.
        """
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, (value, default) in values.items()
            if name in ALWAYS_KEPT or value != default
        }

    @property
    def crops(self) -> bool:
        """Whether the tensor shows the centre of the image alone."""
        return self.resize == "shortest" and self.size is not None

    @property
    def side_multiple(self) -> int:
        """What divides every height and width that follows from the image."""
        return self.size_divisor if self.multiple_of % self.size_divisor else self.multiple_of

    @property
    def pad_bytes(self) -> tuple[int, int, int]:
        """`pad_value` of a uint8 BGR image."""
        blue, green, red = (round(value) for value in np.broadcast_to(self.pad_value, CHANNELS)[::-1].tolist())
        return blue, green, red

    def at_size(self, size: tuple[int, int]) -> Self:
        """The rule that brings every image to this size: the rule itself, a stretch of a stretch, or a letterbox."""
        if size == self.size:
            return self
        resize = "stretch" if self.resize == "stretch" else "letterbox"
        return self._without_own_keys(size=size, resize=resize)

    def kept(self) -> Self:
        """The rule for a dynamic height and width: itself where the size follows from the image, else "keep"."""
        return self if self.size is None else self._without_own_keys(size=None, resize="keep", side_rounding="usual")

    def geometry(self, height: int, width: int) -> Geometry:
        """Where an image of height x width pixels comes to lie in the tensor."""
        image = (height, width)
        resized = self._resized(image)
        if self.size is None:
            return Geometry(image, resized, padded_size(resized, self.size_divisor))
        if not self.crops:
            return Geometry(image, resized, self.size)
        return Geometry(
            image, resized, self.size, crop_offset(resized, self.size, to_even=self.crop_rounding == "even")
        )

    def run(self, image: Array, out: NDArray[np.float32]) -> Geometry:
        """Write `image` uint8 [h, w, 3] BGR into `out` float32 [3, H, W], RGB, 0..1. The image is not changed.

        `out` must be C-contiguous and of the geometry's tensor_size; every element is written.
        Raises InputError for an image that is not one (see check_image) or an `out` that does not fit.
        """
        check_image(image)
        geometry = self.geometry(image.shape[0], image.shape[1])
        if out.shape != (CHANNELS, *geometry.tensor_size) or out.dtype != np.float32:
            raise InputError(
                f"preprocess: out is {out.dtype} {list(out.shape)}, expected float32 "
                f"{[CHANNELS, *geometry.tensor_size]}"
            )
        self.placed(image).write(0, 0, out)
        return geometry

    def placed(self, image: Array) -> PlacedImage:
        """The tensor of `image` uint8 [h, w, 3] BGR, to be written piece by piece. InputError, see check_image."""
        check_image(image)
        geometry = self.geometry(image.shape[0], image.shape[1])
        if geometry.resized_size != geometry.image_size:
            check_resized(image, geometry.resized_size)
            image = resampled(rows_of_pixels(image), geometry.resized_size, self.interpolation)
        if self.crops:
            (top, left), (height, width) = geometry.offset, geometry.tensor_size
            image = image[top : top + height, left : left + width]
        return PlacedImage(image, geometry, self.pad_value)

    def _resized(self, image: Size) -> Size:
        half_up = self.side_rounding == "half_up"
        if self.resize == "keep":
            return image
        if self.resize == "shortest":
            assert self.shortest_edge is not None
            edges = scaled_edge_size if half_up else shortest_edge_size
            return edges(image, self.shortest_edge, self.longest_edge, self.multiple_of)
        if self.resize == "nearest_scale":
            assert self.fit_size is not None
            return nearest_scale_size(image, self.fit_size, self.multiple_of)
        assert self.size is not None
        return self.size if self.resize == "stretch" else letterbox_size(image, self.size, half_up=half_up)

    def _without_own_keys(self, **changes: Any) -> Self:
        names = {name for keys in OWN_KEYS.values() for name in keys}
        defaults: dict[str, Any] = {name: type(self).__dataclass_fields__[name].default for name in names}
        return replace(self, **defaults, **changes)
