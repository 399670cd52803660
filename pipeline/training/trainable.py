"""The zoo's models as mmengine trains them; the models themselves are not edited."""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from mmengine.model import BaseModel
from torch import Tensor, nn

from zoo.downloads import RUNS, refused_downloads
from zoo.families import family_of
from zoo.input_specs import IMAGES


class Trainable(BaseModel):  # type: ignore[misc]  # mmengine is untyped
    """Wraps a model so that a batch of its data's `collate` gives its dictionary of losses.

    `first_step`: what a deployed graph does with its input before the model, see zoo.families.first_step.
    """

    def __init__(self, model: nn.Module, first_step: nn.Module | None = None) -> None:
        super().__init__()
        self.model = model
        self.first_step = first_step
        self.family = family_of(model)

    def forward(self, mode: str = "loss", **batch: Any) -> dict[str, Tensor]:
        """A batch as its data's `collate` makes it, by name -> scalar losses, see zoo.families.Family.losses."""
        if mode != "loss":
            raise ValueError(f'mode "{mode}": a Trainable only gives losses; use the wrapped model for the rest')
        if self.first_step is not None:
            batch[IMAGES.name] = self.first_step(batch[IMAGES.name])
        with in_float32(self.model, self.family.float32_parts), refused_downloads("the model", RUNS):
            losses = self.family.losses(self.model, batch)
        return {name if "loss" in name else f"loss_{name}": loss for name, loss in losses.items()}  # mmengine's mark


@contextmanager
def in_float32(model: nn.Module, names: Iterable[str]) -> Iterator[None]:
    """Lets what follows these modules compute in float32, whatever the layers compute in.

    Of a detector its boxes: anchors, proposals and even the true boxes take the dtype of features and offsets; in
    bfloat16, which autocast makes of those on a CPU, a coordinate above 256 is only known to 2 pixels.
    """
    parts = dict(model.named_modules())
    hooks = [parts[name].register_forward_hook(_to_float32) for name in names if name in parts]
    try:
        yield
    finally:
        for hook in hooks:
            hook.remove()


def _to_float32(_module: nn.Module, _inputs: object, output: Any) -> Any:
    """A tensor, or tensors in lists, tuples and mappings, as float32."""
    if isinstance(output, Tensor):
        return output.float()
    if isinstance(output, Mapping):
        return {name: _to_float32(_module, _inputs, value) for name, value in output.items()}
    return type(output)(_to_float32(_module, _inputs, value) for value in output)
