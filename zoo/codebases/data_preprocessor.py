"""What the data preprocessor does to the loaded images of a test: order of the channels, mean and std, padding."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from zoo.codebases.config import PREPROCESSOR, CodebaseConfig
from zoo.codebases.known_keys import WRITE, check_keys, refusal
from zoo.codebases.values import CHANNELS, COUNT, NUMBER, PER_CHANNEL, SECTION, read
from zoo.errors import InputError

NOT_IN_TESTS = (
    "size",
    "size_divisor",
    "seg_pad_val",
    "seg_pad_value",
    "batch_augments",
    "pad_mask",
    "mask_pad_value",
    "pad_seg",
    "boxtype2tensor",
    "non_blocking",
    "type",
)
PADDINGS = ("pad_val", "pad_value")  # mmseg's name and mmdet's
READ = ("mean", "std", "bgr_to_rgb", "rgb_to_bgr", *PADDINGS, "pad_size_divisor", "test_cfg")


@dataclass(frozen=True)
class Preprocessor:
    """Of the scale 0..255, in the model's order of channels.

    `padding`: what its own padding is before the normalisation, RGB.
    """

    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None
    order: str
    divisor: int = 1
    padding: tuple[float, ...] | None = None

    def of_normalized(self, values: Sequence[float]) -> tuple[float, ...]:
        """Normalised values, in the model's order of channels, as they are before: RGB."""
        mean, std = self.mean or (0.0,) * CHANNELS, self.std or (1.0,) * CHANNELS
        before = tuple(value * s + m for value, m, s in zip(values, mean, std, strict=True))
        return before if self.order == "rgb" else before[::-1]


def preprocessor_of(config: CodebaseConfig, transformed: Mapping[str, Any]) -> Preprocessor:
    """`transformed`: what a transform has normalised by already. Raises InputError for what has no counterpart."""
    where = _where(config)
    fields = config.preprocessor
    check_keys(fields, (*READ, *NOT_IN_TESTS), where, WRITE)
    if transformed and fields.get("mean") is not None:
        raise InputError(f"{where}: mean is there, and the test pipeline normalises as well; leave one of them out")
    if transformed and fields.get("bgr_to_rgb"):
        raise InputError(
            f"{where}: bgr_to_rgb is True, and the Normalize of the test pipeline says the order of the channels; "
            "leave one of them out"
        )
    if fields.get("rgb_to_bgr"):
        raise refusal(where, "rgb_to_bgr", True, "False: images are read as BGR")
    normalization = transformed or fields
    mean, std = (_channels(normalization, key, where) for key in ("mean", "std"))
    order = "rgb" if normalization.get("bgr_to_rgb") else "bgr"
    test = read(fields, "test_cfg", SECTION, where, {})
    check_keys(test, ("size_divisor",), f"{where}: test_cfg", WRITE)
    divisor = read(test, "size_divisor", COUNT, f"{where}: test_cfg", batch_divisor(config))
    value = next((found for key in PADDINGS if (found := read(fields, key, NUMBER, where, 0))), 0)
    result = Preprocessor(mean, std, order, divisor)
    return replace(result, padding=result.of_normalized((value,) * CHANNELS))


def batch_divisor(config: CodebaseConfig) -> int:
    """Of the sides of a batch, which it pads. Raises InputError where it is no integer, 1 or more."""
    divisor: int = read(config.preprocessor, "pad_size_divisor", COUNT, _where(config), 1)
    return divisor


def _channels(fields: Mapping[str, Any], key: str, where: str) -> tuple[float, ...] | None:
    values = read(fields, key, PER_CHANNEL, where, None)
    return None if values is None else tuple(map(float, values))


def _where(config: CodebaseConfig) -> str:
    return f"{config.path}: {PREPROCESSOR}"
