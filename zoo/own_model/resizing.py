"""Another size for a preprocessing that a library's own files describe."""

from collections.abc import Mapping
from typing import Any

KEPT = ("interpolation", "mean", "std", "channel_order")
CHANGED = "--size replaces the resize of the training's own image processor: an image is {how} to this size."


def resized(preprocess: Mapping[str, Any], size: tuple[int, int] | None) -> tuple[dict[str, Any], str | None]:
    """The section `preprocess` for tensors of `size`, and what the reader must know of it; None: the section as it is.

    Stretched where the section stretches; else the aspect ratio is kept, and the rest is padded.
    """
    if size is None:
        return dict(preprocess), None
    resize = "stretch" if preprocess.get("resize") == "stretch" else "letterbox"
    note = CHANGED.format(how="stretched" if resize == "stretch" else "scaled and padded")
    return {"size": size, "resize": resize, **{key: preprocess[key] for key in KEPT if key in preprocess}}, note
