"""A case of the table of other people's models: a model with live weights, and the images that it is run on."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any

from measured import ROOT
from torch import Tensor, nn

from pipeline.parity.graph_inputs import GraphInput
from zoo.target import AxisRange
from zoo.tasks import Task

FOLDER = "own_model_cases"
BATCHES = (1, 3)


@dataclass(frozen=True)
class OwnModel:
    """`model`: in eval mode, its batch norms with the statistics of images (zoo.calibration.learn_statistics).

    `images`: float32 [3, 3, H, W], RGB, 0..1, of different content. `second`: float32 [1, 3, h, w], another size; None
    for a model that takes one size alone. `forward`: keyword arguments of the model's forward.
    """

    model: nn.Module
    task: Task
    images: Tensor
    second: Tensor | None
    level: str = "final"
    forward: Mapping[str, Any] = field(default_factory=dict)

    def inputs(self) -> list[GraphInput]:
        """The batches of 1 and of 3, and the second size."""
        cases = [*(self.images[:batch] for batch in BATCHES), *([] if self.second is None else [self.second])]
        return [GraphInput((), {"images": case.numpy()}) for case in cases]

    def axes(self, *, second: bool) -> dict[str, AxisRange]:
        """The batch is dynamic; with `second` the sizes, too."""
        axes = {"batch": AxisRange(min(BATCHES), 2, max(BATCHES))}
        others = self.second if second and self.second is not None else self.images
        for number, name in enumerate(("height", "width"), 2):
            side, other = self.images.shape[number], others.shape[number]
            axes[name] = AxisRange(min(side, other), side, max(side, other))
        return axes


Builder = Callable[[], OwnModel]


@dataclass(frozen=True)
class Kind:
    """A module of cases: its name, what its models are, and what builds each of them."""

    name: str
    title: str
    cases: Mapping[str, Builder]


def kinds() -> Iterator[Kind]:
    """Every module in own_model_cases, by name. `CASES` names its builders; the docstring's first line is the title.

    A builder imports the library that it needs, and downloads nothing.
    """
    for path in sorted((ROOT / "benchmarks" / FOLDER).glob("*.py")):
        module = import_module(f"{FOLDER}.{path.stem}")
        title = (module.__doc__ or path.stem).splitlines()[0].rstrip(".")
        yield Kind(path.stem, title, module.CASES)
