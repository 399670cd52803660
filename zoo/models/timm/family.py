"""The family of timm's models, and of those that have one of them as a part."""

from typing import Any, ClassVar

from torch import nn

from zoo.families import Generic, register
from zoo.optional_library import optional_library


@register("timm")
class TimmFamily(Generic):
    """Their contract is the task's. Many transformers are built for one size of images."""

    name: ClassVar[str] = "a timm model"
    rewriters: ClassVar[str | None] = "rewriters.timm"

    def only_size(self, model: nn.Module) -> tuple[int, int] | None:
        """As timm declares it, for the size that the model was built for."""
        models = optional_library("timm.models", "timm", "this model")
        declared: dict[str, Any] = models.get_model_input_config(model)
        if not declared["fixed_input_size"]:
            return None
        _, height, width = declared["input_size"]
        return height, width
