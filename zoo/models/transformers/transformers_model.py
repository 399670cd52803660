"""The base of the models of transformers: an architecture, and weights by the names of its library."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor, nn

from zoo.errors import InputError
from zoo.models.transformers.architecture import EXTRA, Source, build_architecture, translated
from zoo.optional_library import needs_library

PREFIX = "model."


@needs_library("transformers", EXTRA)
class TransformersModel(nn.Module):
    """`model` is the one that `folder`/config.json describes, with random weights: the config's checkpoint has them.

    `architecture`: what a config.json holds, in the place of a folder; transformers' defaults stand for what it leaves
    out. `num_classes`: in the place of the number that either says, for a training on other classes. A subclass says
    which kinds of model fit (`heads`, `purpose`: see build_architecture) and for which `task`, by the name of its class
    in zoo.tasks. Its forward makes of the model's own output what the task expects. Mean and standard deviation are the
    config's (`preprocess`), not the model's. Raises InputError for a folder or an architecture that does not describe
    such a model, BackendUnavailableError without the library.
    """

    heads: ClassVar[tuple[str, ...]]
    purpose: ClassVar[str]
    task: ClassVar[str]

    def __init__(
        self,
        folder: str | Path | None = None,
        architecture: Mapping[str, Any] | None = None,
        num_classes: int | None = None,
    ) -> None:
        super().__init__()
        source = one_source(folder, architecture)
        self.model: Any = build_architecture(source, self.heads, self.purpose, num_classes)

    def translated_state(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """A state dict that save_pretrained wrote, by this module's names; see zoo.checkpoint."""
        return {f"{PREFIX}{name}": tensor for name, tensor in translated(self.model, state).items()}


def one_source(folder: str | Path | None, architecture: Mapping[str, Any] | None) -> Source:
    """The one of both that describes the model. Raises InputError where it is none, or both are given."""
    if folder is not None and architecture is not None:
        raise InputError("model: folder and architecture both describe the model; give one of them")
    source = architecture if folder is None else folder
    if source is None:
        raise InputError(
            'model: expected folder="...", which save_pretrained wrote, or architecture=dict(model_type="...", ...)'
        )
    return source
