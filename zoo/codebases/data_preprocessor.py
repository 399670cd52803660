"""What the data preprocessor does to the loaded images of a test: order of the channels, mean and std, padding."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zoo.codebases.config import CodebaseConfig
from zoo.codebases.known_keys import WRITE, check_keys, refusal
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
READ = ("mean", "std", "bgr_to_rgb", "rgb_to_bgr", "pad_val", "pad_value", "pad_size_divisor", "test_cfg")


@dataclass(frozen=True)
class Preprocessor:
    """Of the scale 0..255, in the model's order of channels; `padding`: what its own padding is before normalising."""

    mean: tuple[float, ...] | None
    std: tuple[float, ...] | None
    order: str
    divisor: int = 1
    padding: tuple[float, ...] | None = None


def preprocessor_of(config: CodebaseConfig, transformed: Mapping[str, Any]) -> Preprocessor:
    """`transformed`: what a transform has normalised by already. Raises InputError for what has no counterpart."""
    where = f"{config.path}: data_preprocessor"
    fields = config.preprocessor
    check_keys(fields, (*READ, *NOT_IN_TESTS), where, WRITE)
    if transformed and fields.get("mean") is not None:
        raise InputError(f"{where}: mean is there, and the test pipeline normalises as well; leave one of them out")
    if fields.get("rgb_to_bgr"):
        raise refusal(where, "rgb_to_bgr", True, "False: images are read as BGR")
    normalization = transformed or fields
    mean, std = (_numbers(normalization.get(key), f"{where}: {key}") for key in ("mean", "std"))
    order = "rgb" if normalization.get("bgr_to_rgb") else "bgr"
    divisor = int(fields.get("pad_size_divisor") or 1)
    test = fields.get("test_cfg") or {}
    check_keys(test, ("size_divisor",), f"{where}: test_cfg", WRITE)
    divisor = int(test.get("size_divisor") or divisor)
    value = float(fields.get("pad_val") or fields.get("pad_value") or 0)
    zeros, ones = (0.0,) * 3, (1.0,) * 3
    padding = tuple(value * s + m for m, s in zip(mean or zeros, std or ones, strict=True))
    return Preprocessor(mean, std, order, divisor, padding if order == "rgb" else padding[::-1])


def _numbers(values: Any, where: str) -> tuple[float, ...] | None:
    if values is None:
        return None
    if not isinstance(values, list | tuple) or len(values) != 3:  # noqa: PLR2004 - the channels
        raise InputError(f"{where} is {values!r}, expected three numbers: zooport reads images of three channels")
    return tuple(float(value) for value in values)
