"""The transforms of a test, one by one: what each says of the tensor."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from zoo.codebases.known_keys import WRITE, check_keys, refusal
from zoo.codebases.values import CHANNELS, COUNT, PADDING, PER_CHANNEL, read
from zoo.errors import InputError

INTERPOLATIONS = ("bilinear", "nearest", "area")  # OpenCV's, under mmcv's names
SAME_IMAGES = ("cv2", "pillow", None)
"""Decoders that give the same bytes of PNG and JPEG files, by the standard library of each format."""


@dataclass(frozen=True)
class Steps:
    """What the transforms have said so far.

    `scale`: (width, height) as mmcv has it, None for images at their own size. `padded`: (height, width) that a Pad
    asks for. `divisor`: of the sides of the padded image. `padding`: a byte for each channel of the loaded BGR image;
    a normalised value, where `pads_normalized`, for each channel of what a Normalize before it has made.
    `normalization`: of a transform Normalize: mean, std, and whether it turns BGR into RGB.
    """

    scale: tuple[int, int] | None = None
    keeps_ratio: bool = False
    interpolation: str = "bilinear"
    padded: tuple[int, int] | None = None
    divisor: int = 1
    padding: tuple[float, ...] | None = None
    pads_normalized: bool = False
    normalization: Mapping[str, Any] = field(default_factory=dict)


def _load(steps: Steps, options: Mapping[str, Any], where: str) -> Steps:
    known = ("color_type", "imdecode_backend", "to_float32", "ignore_empty", "backend_args", "file_client_args")
    check_keys(options, known, where, WRITE)
    if options.get("color_type") not in ("color", None):
        raise refusal(where, "color_type", options["color_type"], "'color'")
    if options.get("imdecode_backend") not in SAME_IMAGES:
        raise refusal(where, "imdecode_backend", options["imdecode_backend"], "'cv2' or 'pillow'")
    return steps


def _resize(steps: Steps, options: Mapping[str, Any], where: str) -> Steps:
    check_keys(
        options, ("scale", "keep_ratio", "interpolation", "backend", "clip_object_border", "scale_factor"), where, WRITE
    )
    if options.get("scale_factor") is not None:
        raise refusal(where, "scale_factor", options["scale_factor"], "a scale (width, height)")
    if steps.scale is not None or steps.padded is not None:
        raise InputError(f"{where} is there after another Resize or Pad; {WRITE}")
    method = options.get("interpolation", "bilinear")
    if method not in INTERPOLATIONS:
        raise refusal(where, "interpolation", method, " or ".join(map(repr, INTERPOLATIONS)))
    if options.get("backend", "cv2") != "cv2":
        raise refusal(where, "backend", options["backend"], "'cv2': OpenCV resizes here, and Pillow to other pixels")
    return replace(
        steps,
        scale=_pair(options.get("scale"), f"{where}: scale"),
        keeps_ratio=bool(options.get("keep_ratio", False)),
        interpolation=method,
    )


def _letter_resize(steps: Steps, options: Mapping[str, Any], where: str) -> Steps:
    """mmyolo's: its letterbox has the image at the centre, zooport's at the top left."""
    known = ("scale", "keep_ratio", "stretch_only", "pad_val", "use_mini_pad", "allow_scale_up", "half_pad_param")
    check_keys(options, (*known, "backend", "interpolation"), where, WRITE)
    if not options.get("stretch_only"):
        raise InputError(f"{where} puts the image at the centre of the padding, and zooport at the top left; {WRITE}")
    kept = {key: options[key] for key in ("scale", "interpolation", "backend") if key in options}
    return _resize(steps, kept, where)


def _pad(steps: Steps, options: Mapping[str, Any], where: str) -> Steps:
    check_keys(options, ("size", "size_divisor", "pad_to_square", "pad_val", "padding_mode"), where, WRITE)
    if options.get("padding_mode", "constant") != "constant":
        raise refusal(where, "padding_mode", options["padding_mode"], "'constant'")
    values = _padding(options, where)
    steps = replace(steps, pads_normalized=bool(steps.normalization))
    if options.get("pad_to_square"):
        if steps.scale is None or not steps.keeps_ratio or steps.scale[0] != steps.scale[1]:
            raise InputError(f"{where} to a square of the image's own size, after no Resize to a square; {WRITE}")
        steps = replace(steps, padded=steps.scale, padding=values)
    divisor = read(options, "size_divisor", COUNT, where, None)
    if divisor is not None or options.get("pad_to_square"):
        return replace(steps, divisor=divisor or steps.divisor, padding=values)
    width, height = _pair(options.get("size"), f"{where}: size")
    return replace(steps, padded=(height, width), padding=values)


def _padding(options: Mapping[str, Any], where: str) -> tuple[float, ...]:
    """A value for each channel, which the key "img" has where there is one for each field."""
    fields, key = options, "pad_val"
    if isinstance(options.get("pad_val"), Mapping):
        fields, key, where = options["pad_val"], "img", f"{where}: pad_val"
    value = read(fields, key, PADDING, where, 0)
    return tuple(value) if isinstance(value, list | tuple) else (value,) * CHANNELS


def _normalize(steps: Steps, options: Mapping[str, Any], where: str) -> Steps:
    check_keys(options, ("mean", "std", "to_rgb"), where, WRITE)
    values = {key: read(options, key, PER_CHANNEL, where) for key in ("mean", "std")}
    return replace(steps, normalization={**values, "bgr_to_rgb": options.get("to_rgb", True)})


def _flip(steps: Steps, options: Mapping[str, Any], where: str) -> Steps:
    if options.get("prob") == 0:
        return steps
    raise InputError(f"{where} mirrors images in the test; {WRITE}")


TRANSFORMS: Mapping[str, Callable[[Steps, Mapping[str, Any], str], Steps]] = {
    "LoadImageFromFile": _load,
    "Resize": _resize,
    "LetterResize": _letter_resize,
    "Pad": _pad,
    "Normalize": _normalize,
    "RandomFlip": _flip,
}


def _pair(value: Any, where: str) -> tuple[int, int]:
    """(width, height), of one number both."""
    values = (value, value) if isinstance(value, int) else value
    if not isinstance(values, list | tuple) or len(values) != 2 or not all(isinstance(one, int) for one in values):  # noqa: PLR2004
        raise InputError(f"{where} is {value!r}, expected (width, height) in whole pixels; {WRITE}")
    return values[0], values[1]
