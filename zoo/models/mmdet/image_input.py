"""How an mmdetection model takes images: its section `data_preprocessor`."""

from collections.abc import Mapping
from typing import Any, NamedTuple, Self

from zoo.errors import InputError

KIND = "DetDataPreprocessor"
CHANNELS = 3


class ImageInput(NamedTuple):
    """`mean` and `std` in bytes, 0..255, of channels in the order of the model; `divisor`: of the sides of a batch."""

    mean: tuple[float, ...]
    std: tuple[float, ...]
    is_bgr: bool
    divisor: int

    @classmethod
    def of(cls, section: Mapping[str, Any] | None) -> Self:
        """Of a section `data_preprocessor`; None: images as mmdetection reads them. Raises InputError for others."""
        options = dict(section or {"type": KIND})
        kind = options.get("type")
        name = kind.rpartition(".")[2] if isinstance(kind, str) else getattr(kind, "__name__", None)
        if name != KIND:
            raise InputError(f"data_preprocessor: got type {name!r}, expected {KIND!r}")
        if options.get("pad_value", 0) != 0:
            raise InputError(
                f"data_preprocessor: got pad_value={options['pad_value']!r}, expected 0: a batch is padded with zeros "
                "after normalisation"
            )
        turned = options.get("bgr_to_rgb", False) or options.get("rgb_to_bgr", False)  # of images that OpenCV reads
        mean, std = options.get("mean"), options.get("std")
        return cls(
            tuple(map(float, mean)) if mean is not None else (0.0,) * CHANNELS,
            tuple(map(float, std)) if std is not None else (1.0,) * CHANNELS,
            not turned,
            int(options.get("pad_size_divisor", 1)),
        )
