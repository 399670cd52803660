"""Which sizes models of transformers take, where the models do not say so themselves."""

from collections.abc import Mapping
from typing import Any

from zoo.errors import InputError
from zoo.target import AxisRange


def patch_side(settings: Any) -> int:
    """What divides height and width: a DPT and a Depth Anything would drop what does not fill a patch; else 1."""
    if settings.model_type not in ("dpt", "depth_anything"):
        return 1
    backbone = getattr(settings, "backbone_config", None)
    return int(getattr(backbone, "patch_size", None) or settings.patch_size)


def check_square(settings: Any, sides: Mapping[str, AxisRange]) -> None:
    """Raises InputError where a DPT with a backbone of its own, which takes the square root of its patches, would be
    given images that are not square.
    """
    backbone = getattr(settings, "backbone_config", None)
    if settings.model_type != "dpt" or (backbone is not None and not settings.is_hybrid):
        return
    height, width = sides["height"], sides["width"]
    if height.dynamic or width.dynamic:
        raise InputError(
            "a dynamic height or width: this DPT of transformers takes square images only; leave out the ranges of "
            "height and width, and deploy once for each size"
        )
    if height.opt != width.opt:
        raise InputError(
            f"height {height.opt}, width {width.opt}: this DPT of transformers takes square images only; give "
            f"preprocess size=({height.opt}, {height.opt})"
        )
