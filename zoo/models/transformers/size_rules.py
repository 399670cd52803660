"""Which sizes models of transformers take, where the models do not say so themselves."""

from collections.abc import Mapping
from typing import Any

from zoo.errors import InputError
from zoo.target import AxisRange

ONE_SIZE_BY_DYNAMO = (
    *("dab-detr", "deformable_detr", "deimv2", "lw_detr", "rf_detr", "table-transformer", "yolos"),
    *("mask2former", "maskformer", "oneformer", "mobilevitv2"),
)
"""By model_type: sizes of the traced image are constants in dynamo's graph, or it is refused at a dynamic size."""


def one_size_exporters(settings: Any) -> tuple[str, ...]:
    """The exporters that keep the size of the traced image, of a model with this configuration."""
    return ("dynamo",) if getattr(settings, "model_type", None) in ONE_SIZE_BY_DYNAMO else ()


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
            "a dynamic height or width: this DPT of transformers takes square images only; give one size: "
            "preprocess.size=(S, S) (--size S S of zooport init), and neither --dynamic nor export.inputs of them"
        )
    if height.opt != width.opt:
        raise InputError(
            f"height {height.opt}, width {width.opt}: this DPT of transformers takes square images only; give "
            f"preprocess size=({height.opt}, {height.opt})"
        )
