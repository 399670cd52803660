"""timm's data configs, as its `create_transform` reads them for an evaluation."""

import math
from collections.abc import Mapping
from typing import Any

from zoo.preprocess_mapping.fields import check_known, checked, interpolation, numbers, refusal, typed

SOURCE = "timm's data config"
FIELDS = ("input_size", "interpolation", "mean", "std", "crop_pct", "crop_mode")
DEFAULT_CROP = 0.875
CHANNELS = 3


@typed(SOURCE)
def from_timm(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The section `preprocess` of timm.data.resolve_data_config's (or resolve_model_data_config's) result.

    `fields`: input_size (channels, height, width), interpolation, mean, std, crop_pct, crop_mode. Taken are the mode
    "center" of square images, and "squash" where nothing is cut off (crop_pct 1). Raises InputError, naming the field.
    """
    check_known(SOURCE, fields, FIELDS)
    size = _size(fields.get("input_size"))
    preprocess: dict[str, Any] = {"size": size, **_resize(size, fields)}
    preprocess["interpolation"] = interpolation(SOURCE, "interpolation", fields.get("interpolation"))
    for name in ("mean", "std"):
        preprocess[name] = numbers(SOURCE, name, fields.get(name))
    return checked(SOURCE, preprocess)


def _size(value: Any) -> tuple[int, int]:
    if not isinstance(value, list | tuple) or len(value) != CHANNELS or value[0] != CHANNELS:
        raise refusal(SOURCE, "input_size", value, f"({CHANNELS}, height, width)")
    return int(value[1]), int(value[2])


def _resize(size: tuple[int, int], fields: Mapping[str, Any]) -> dict[str, Any]:
    mode, part = fields.get("crop_mode") or "center", fields.get("crop_pct") or DEFAULT_CROP
    if mode == "squash":
        if part != 1:
            raise refusal(SOURCE, "crop_pct", part, '1 with crop_mode "squash"')
        return {"resize": "stretch"}
    if mode != "center":
        raise refusal(SOURCE, "crop_mode", mode, '"center" or "squash"')
    if size[0] != size[1]:
        raise refusal(SOURCE, "input_size", fields["input_size"], 'a square with crop_mode "center"')
    return {"resize": "shortest", "shortest_edge": math.floor(size[0] / part), "crop_rounding": "even"}
