"""The base of the models of transformers: an architecture from a folder, and weights by the names of its library."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

from torch import Tensor, nn

from zoo.models.transformers.architecture import build_architecture, translated

PREFIX = "model."


class TransformersModel(nn.Module):
    """`model` is the one that `folder`/config.json describes, with random weights: the config's checkpoint has them.

    A subclass says which kinds of model fit (`heads`, `purpose`: see build_architecture), and its forward makes of the
    model's own output what the task expects. Mean and standard deviation are the config's (`preprocess`), not the
    model's. Raises InputError for a folder that does not describe such a model, BackendUnavailableError without the
    library.
    """

    heads: ClassVar[tuple[str, ...]]
    purpose: ClassVar[str]
    task: ClassVar[str] = "Tensors"
    """The task of the models of a family without contracts of its own."""

    def __init__(self, folder: str | Path) -> None:
        super().__init__()
        self.model: Any = build_architecture(folder, self.heads, self.purpose)

    def translated_state(self, state: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """A state dict that save_pretrained wrote, by this module's names; see zoo.checkpoint."""
        return {f"{PREFIX}{name}": tensor for name, tensor in translated(self.model, state).items()}
