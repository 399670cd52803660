"""The family of the models of transformers that estimate depth."""

from collections.abc import Mapping
from typing import Any, ClassVar

from zoo.families import Generic, register
from zoo.models.transformers.depth.transformers_depth import TransformersDepth
from zoo.models.transformers.size_rules import check_square, patch_side
from zoo.target import AxisRange


@register(TransformersDepth)
class TransformersDepthFamily(Generic):
    """Their contract is that of the task Tensors."""

    name: ClassVar[str] = "TransformersDepth"
    rewriters: ClassVar[str | None] = "rewriters.transformers"

    def size_divisor(self, model: Any) -> int:
        """The side of a patch."""
        return patch_side(model.model.config)

    def check_sides(self, model: Any, sides: Mapping[str, AxisRange]) -> None:
        """Some take square images only."""
        check_square(model.model.config, sides)
