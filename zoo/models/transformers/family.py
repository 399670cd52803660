"""The family of transformers' own classes, such as a depth model that a function of the user's builds."""

from collections.abc import Mapping
from typing import ClassVar

from zoo.families import Generic, register
from zoo.installed_versions import installed_versions


@register("transformers")
class TransformersFamily(Generic):
    """Their contract is the task's. The rewriters are those of the types that the zoo wraps them in."""

    name: ClassVar[str] = "a transformers model"
    rewriters: ClassVar[str | None] = "rewriters.transformers"

    def libraries(self) -> Mapping[str, str]:
        """Its version."""
        return installed_versions(("transformers",))
