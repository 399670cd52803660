"""preprocessor_config.json of transformers' image processors."""

import math
from collections.abc import Mapping
from typing import Any

from zoo.errors import InputError, nearest
from zoo.preprocess_mapping.fields import WRITE, check_known, checked, interpolation, numbers, refusal, sides, typed
from zoo.preprocess_mapping.image_processors import IMAGE_PROCESSORS, IRRELEVANT, READ, ImageProcessor

SOURCE = "preprocessor_config.json"
RESAMPLE = {2: "bilinear", 3: "bicubic"}  # Pillow's numbers
BYTES = 255.0
ENDINGS = ("FeatureExtractor", "ImageProcessorFast", "ImageProcessorPil", "ImageProcessor")


@typed(SOURCE)
def from_transformers(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The section `preprocess` of the content of a preprocessor_config.json, of version 4 or 5 of transformers.

    Taken are the processors of zoo.preprocess_mapping.image_processors, whose own code is known. Fields about
    annotations, labels and the form of the output are passed over. Padding to the largest image of a batch is left out:
    a batch here has images of one size. Raises InputError, naming the field.
    """
    processor = _processor(fields)
    check_known(SOURCE, fields, (*READ, *IRRELEVANT, *processor.fields))
    for name, value in fields.items():
        if name.startswith(("do_", "keep_")) and not isinstance(value, bool | None):
            raise refusal(SOURCE, name, value, "true or false")
    for name, value in processor.expected.items():
        if fields.get(name, value) not in (value, None):
            raise refusal(SOURCE, name, fields[name], repr(value))
    preprocess = _resize(fields, processor) | _normalization(fields, processor)
    if fields.get("do_flip_channel_order", processor.flips) and "do_flip_channel_order" in processor.fields:
        preprocess["channel_order"] = "bgr"
    return checked(SOURCE, preprocess)


def _processor(fields: Mapping[str, Any]) -> ImageProcessor:
    kind = fields.get("image_processor_type") or fields.get("feature_extractor_type")
    name = str(kind)
    for ending in ENDINGS:
        name = name.removesuffix(ending)
    if name not in IMAGE_PROCESSORS:
        raise InputError(
            f"{SOURCE}: image_processor_type is {kind!r}, whose code is not known here; "
            f"{nearest(name, IMAGE_PROCESSORS)}; {WRITE}"
        )
    return IMAGE_PROCESSORS[name]


def _resize(fields: Mapping[str, Any], processor: ImageProcessor) -> dict[str, Any]:
    crops = bool(fields.get("do_center_crop", processor.crops))
    if not fields.get("do_resize", True):
        if crops:
            raise refusal(SOURCE, "do_center_crop", crops, "False where do_resize is False")
        return {"resize": "keep", "size_divisor": 1}
    resample = fields.get("resample", processor.resample)
    method = interpolation(SOURCE, "resample", RESAMPLE.get(resample, resample))
    size = _size(fields, processor)
    if processor.crop_part:
        return _by_part(fields, size) | {"interpolation": method}
    if fields.get("keep_aspect_ratio"):
        return _at_nearest_scale(fields, processor, size, crops=crops) | {"interpolation": method}
    if "shortest_edge" not in size:
        return _stretched(fields, processor, size, crops=crops) | {"interpolation": method}
    result: dict[str, Any] = {"resize": "shortest", **size, "size_divisor": 1, "interpolation": method}
    if crops:
        result["size"] = _crop(fields)
        del result["size_divisor"]
    if step := _multiple(fields, processor):
        result["multiple_of"] = step
    return result


def _size(fields: Mapping[str, Any], processor: ImageProcessor) -> dict[str, int]:
    """{"height", "width"}, or {"shortest_edge"} and perhaps "longest_edge"."""
    size = fields.get("size")
    longest = fields.get("max_size", fields.get("_max_size", processor.longest_edge)) if processor.longest else None
    if isinstance(size, int) and not isinstance(size, bool):
        size = {"height": size, "width": size} if processor.square else {"shortest_edge": size, "longest_edge": longest}
    if not isinstance(size, Mapping):
        raise refusal(SOURCE, "size", size, "height and width, or shortest_edge")
    lengths: dict[str, int] = {name: value for name, value in size.items() if value is not None}
    for name, value in lengths.items():
        sides(SOURCE, f"size.{name}", value)
    if set(lengths) not in ({"height", "width"}, {"shortest_edge"}, {"shortest_edge", "longest_edge"}):
        raise refusal(SOURCE, "size", dict(size), "height and width, or shortest_edge and perhaps longest_edge")
    return lengths


def _stretched(
    fields: Mapping[str, Any], processor: ImageProcessor, size: Mapping[str, int], *, crops: bool
) -> dict[str, Any]:
    height, width = size["height"], size["width"]
    if step := _multiple(fields, processor):
        rounded = math.ceil if processor.rounds_up else round
        height, width = (int(rounded(side / step) * step) for side in (height, width))
    if crops and _crop(fields) != (height, width):
        raise refusal(SOURCE, "crop_size", fields["crop_size"], f"the size {height}x{width}, or a size.shortest_edge")
    return {"size": (height, width), "resize": "stretch"}


def _at_nearest_scale(
    fields: Mapping[str, Any], processor: ImageProcessor, size: Mapping[str, int], *, crops: bool
) -> dict[str, Any]:
    """DPT's: by the scale that fits the height or the width, whichever is nearer to 1."""
    if crops:
        raise refusal(SOURCE, "do_center_crop", crops, "False where keep_aspect_ratio is True")
    if "shortest_edge" in size:
        raise refusal(SOURCE, "size", dict(size), "height and width where keep_aspect_ratio is True")
    rule = {"resize": "nearest_scale", "fit_size": (size["height"], size["width"]), "size_divisor": 1}
    return rule | ({"multiple_of": step} if (step := _multiple(fields, processor)) else {})


def _multiple(fields: Mapping[str, Any], processor: ImageProcessor) -> Any:
    """What divides the sides of a resized image; None, or 0, where the processor's code rounds to no multiple."""
    return None if processor.multiple is None else fields.get(processor.multiple, processor.multiple_of)


def _by_part(fields: Mapping[str, Any], size: Mapping[str, int]) -> dict[str, Any]:
    """ConvNeXt's: below 384 the centre of an image that is larger by 1 / crop_pct, else the whole image, stretched."""
    if set(size) != {"shortest_edge"}:
        raise refusal(SOURCE, "size", dict(size), "shortest_edge")
    side, part = size["shortest_edge"], fields.get("crop_pct") or 224 / 256
    if side >= 384:  # noqa: PLR2004 - the number in its code
        return {"size": (side, side), "resize": "stretch"}
    return {"size": (side, side), "resize": "shortest", "shortest_edge": int(side / part)}


def _crop(fields: Mapping[str, Any]) -> tuple[int, int]:
    crop = fields.get("crop_size")
    values = [crop.get("height"), crop.get("width")] if isinstance(crop, Mapping) else crop
    lengths = sides(SOURCE, "crop_size", values)
    return lengths[0], lengths[-1]


def _normalization(fields: Mapping[str, Any], processor: ImageProcessor) -> dict[str, Any]:
    """Of bytes p: (p * rescale_factor - image_mean) / image_std; ours is of p / 255."""
    factor = fields.get("rescale_factor", 1 / BYTES) if fields.get("do_rescale", True) else 1.0
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < math.inf:
        raise refusal(SOURCE, "rescale_factor", factor, "a number above 0")
    scale = factor * BYTES
    if math.isclose(scale, 1.0, rel_tol=1e-6):
        scale = 1.0
    if fields.get("do_normalize", processor.normalizes):
        mean, std = (numbers(SOURCE, name, fields.get(name)) for name in ("image_mean", "image_std"))
    elif scale == 1.0:
        return {}
    else:
        mean, std = (0.0,) * 3, (1.0,) * 3
    return {"mean": tuple(value / scale for value in mean), "std": tuple(value / scale for value in std)}
