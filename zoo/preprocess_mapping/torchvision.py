"""torchvision's presets: `weights.transforms()` of classifiers, segmentors and detectors."""

from collections.abc import Mapping
from typing import Any

from zoo.preprocess_mapping.fields import check_known, checked, interpolation, numbers, refusal, sides, typed

SOURCE = "torchvision's transforms"
TORCHVISION_FIELDS = ("resize_size", "crop_size", "interpolation", "antialias", "mean", "std")
"""The attributes of a preset; those that it does not have are left out of the mapping."""


@typed(SOURCE)
def from_torchvision(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The section `preprocess` of a preset's attributes, those of TORCHVISION_FIELDS that it has.

    `resize_size`: of the shorter edge, or height and width. `crop_size`: of the centre that is cut out, if any is.
    `interpolation`: a name, or torchvision's InterpolationMode. No fields, as of the detectors' preset: the image as it
    is, which the model itself resizes. Raises InputError, naming the field.
    """
    check_known(SOURCE, fields, TORCHVISION_FIELDS)
    preprocess = _resize(fields)
    if preprocess["resize"] != "keep":
        mode = fields.get("interpolation", "bilinear")
        preprocess["interpolation"] = interpolation(SOURCE, "interpolation", getattr(mode, "value", mode))
        if fields.get("antialias", True) is not True:
            raise refusal(SOURCE, "antialias", fields["antialias"], "True")
    for name in ("mean", "std"):
        if fields.get(name) is not None:
            preprocess[name] = numbers(SOURCE, name, fields[name])
    return checked(SOURCE, preprocess)


def _resize(fields: Mapping[str, Any]) -> dict[str, Any]:
    crop = fields.get("crop_size")
    if fields.get("resize_size") is None:
        if crop is not None:
            raise refusal(SOURCE, "crop_size", crop, "a resize_size with it")
        return {"resize": "keep", "size_divisor": 1}
    resized = sides(SOURCE, "resize_size", fields["resize_size"])
    square = None if crop is None else _both(sides(SOURCE, "crop_size", crop))
    if len(resized) > 1:
        if square not in (None, resized):
            raise refusal(SOURCE, "crop_size", crop, f"the resize_size {resized}, or one length as resize_size")
        return {"size": resized, "resize": "stretch"}
    if square is None:
        return {"resize": "shortest", "shortest_edge": resized[0], "size_divisor": 1}
    return {"size": square, "resize": "shortest", "shortest_edge": resized[0], "crop_rounding": "even"}


def _both(lengths: tuple[int, ...]) -> tuple[int, int]:
    return lengths[0], lengths[-1]
