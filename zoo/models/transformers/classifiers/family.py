"""The family of the models of transformers that classify images."""

from collections.abc import Mapping
from typing import Any, ClassVar

from zoo.errors import InputError
from zoo.families import Generic, register
from zoo.models.transformers.classifiers.transformers_classifier import TransformersClassifier
from zoo.target import AxisRange


@register(TransformersClassifier)
class TransformersClassifierFamily(Generic):
    """Their contract is that of the task."""

    name: ClassVar[str] = "TransformersClassifier"
    rewriters: ClassVar[str | None] = "rewriters.transformers"

    def check_sides(self, model: Any, sides: Mapping[str, AxisRange]) -> None:
        """Swin changes its windows for good where an image is small: what it gives depends on the images before."""
        changing = any(hasattr(part, "set_shift_and_window_size") for part in model.modules())
        for name, side in sides.items() if changing else ():
            if side.dynamic:
                kind = type(model.model).__name__
                raise InputError(
                    f"{name} {side.min} to {side.max}: transformers changes the windows of {kind} "
                    "with the size of an image, and keeps the change for the next; give one size"
                )
