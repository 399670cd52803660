"""Another size for a preprocessing that a library's own files describe, and one for those that have no counterpart."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from zoo.errors import InputError

KEPT = ("interpolation", "pad_value", "mean", "std", "channel_order")
CHANGED = "--size replaces the resize of the training's own image processor: an image is {how} to this size."
BY_HAND = "Replace this with what your training did."


def resized(preprocess: Mapping[str, Any], size: tuple[int, int] | None) -> tuple[dict[str, Any], str | None]:
    """The section `preprocess` for tensors of `size`, and what the reader must know of it; None: the section as it is.

    Stretched where the section stretches; else the aspect ratio is kept, and the rest is padded.
    """
    if size is None:
        return dict(preprocess), None
    resize = "stretch" if preprocess.get("resize") == "stretch" else "letterbox"
    note = CHANGED.format(how="stretched" if resize == "stretch" else "scaled and padded")
    return {"size": size, "resize": resize, **{key: preprocess[key] for key in KEPT if key in preprocess}}, note


def to_complete(
    source: object,
    reason: str,
    size: tuple[int, int] | None,
    normalization: Mapping[str, Any] = MappingProxyType({}),
) -> tuple[dict[str, Any], str]:
    """A section for the user to complete, where the `source` has no counterpart for that `reason`, and a note of it.

    Raises InputError without a size, which nothing else says.
    """
    if size is None:
        raise InputError(f"{source}: {reason}; --size HEIGHT WIDTH writes a config for you to complete")
    without = "" if normalization else ", without mean and std"
    resize = {"size": size, "resize": "stretch", "interpolation": "antialias"}
    return {**resize, **normalization}, f"{reason}. So images are stretched{without}. {BY_HAND}"
