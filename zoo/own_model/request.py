"""What a config for a model of one's own is to be made of."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from zoo.errors import InputError


@dataclass(frozen=True)
class ModelRequest:
    """`source`: the model, in one of the forms of zoo.own_model.forms. `weights`: the file of its state dict.

    `classes`: their names, index = the model's own id. `size`: (height, width) of the tensor in pixels. `arguments`: of
    the model's constructor. `out`: where the config goes; None for the form's choice. `force`: replace a file there.
    """

    source: str
    weights: Path | None = None
    classes: tuple[str, ...] = ()
    task: str | None = None
    size: tuple[int, int] | None = None
    arguments: Mapping[str, Any] = field(default_factory=dict)
    out: Path | None = None
    force: bool = False

    @property
    def weights_file(self) -> Path:
        """The weights. Raises InputError where none are given."""
        if self.weights is None:
            raise InputError(f"{self.source}: no weights; give --weights FILE, the state dict of the trained model")
        return self.weights

    @property
    def tensor_size(self) -> tuple[int, int]:
        """The size. Raises InputError where none is given, and nothing else says it."""
        if self.size is None:
            raise InputError(f"{self.source}: no size; give --size HEIGHT WIDTH, of the images that it was trained on")
        return self.size
