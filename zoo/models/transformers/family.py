"""The family of transformers' own classes, such as a depth model that a function of the user's builds."""

from collections.abc import Mapping
from typing import ClassVar

from torch import nn

from zoo.families import Generic, register
from zoo.installed_versions import installed_versions
from zoo.models.transformers.size_rules import one_size_exporters


@register("transformers")
class TransformersFamily(Generic):
    """Their contract is the task's. The rewriters are those of the types that the zoo wraps them in."""

    name: ClassVar[str] = "a transformers model"
    rewriters: ClassVar[str | None] = "rewriters.transformers"

    def one_size_exporters(self, model: nn.Module) -> tuple[str, ...]:
        """By the model_type of its configuration."""
        return one_size_exporters(getattr(model, "config", None))

    def libraries(self) -> Mapping[str, str]:
        """Its version."""
        return installed_versions(("transformers",))
