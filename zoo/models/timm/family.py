"""The family of timm's models, and of those that have one of them as a part."""

from collections.abc import Mapping
from typing import Any, ClassVar

from torch import nn

from zoo.errors import InputError
from zoo.families import Generic, register
from zoo.installed_versions import installed_versions
from zoo.optional_library import optional_library
from zoo.target import AxisRange


@register("timm")
class TimmFamily(Generic):
    """Their contract is the task's. Many vision transformers are built for one size of images."""

    name: ClassVar[str] = "a timm model"
    rewriters: ClassVar[str | None] = "rewriters.timm"

    def libraries(self) -> Mapping[str, str]:
        """Its version."""
        return installed_versions(("timm",))

    def check_sides(self, model: nn.Module, sides: Mapping[str, AxisRange]) -> None:
        """The one size that the model was built for, where timm declares that it takes no other."""
        models = optional_library("timm.models", "timm", "this model")
        declared: dict[str, Any] = models.get_model_input_config(model)
        if declared["fixed_input_size"]:
            check_one_size(type(model).__name__, tuple(declared["input_size"][1:]), sides)


def check_one_size(kind: str, size: tuple[int, int], sides: Mapping[str, AxisRange]) -> None:
    """Raises InputError where a height or width may be another than that of `size`, which the model `kind` takes."""
    for axis, taken in zip(("height", "width"), size, strict=True):
        bounds = sides[axis]
        other = next((side for side in (bounds.min, bounds.opt, bounds.max) if side != taken), None)
        if other is not None:
            raise InputError(
                f"{axis} {other}: this {kind} takes only images of {size[0]}x{size[1]}; give preprocess size {size} "
                "and no other height or width, or build the model for the size that it was trained at: img_size in the "
                "config's model, --arg img_size=H,W of zooport init"
            )
