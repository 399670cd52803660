"""A case of the table of other people's models: a model with live weights, and the images that it is run on."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from measured import ROOT
from torch import Tensor, nn

from pipeline.parity.graph_inputs import GraphInput
from zoo.target import AxisRange
from zoo.tasks import Task

FOLDER = "own_model_cases"
BATCHES = (1, 3)
LARGEST = 4
"""How many times larger than the images the largest size of a dynamic range is: near sizes leave torch no range of
their quotients, and it takes the one that is left for a constant."""


@dataclass(frozen=True)
class OwnModel:
    """`model`: in eval mode, its batch norms with the statistics of images (zoo.random_weights.learn_statistics).

    `images`: float32 [3, 3, H, W], RGB, 0..1, of different content. `second`: float32 [1, 3, h, w], another size; None
    for a model that takes one size alone. `forward`: keyword arguments of the model's forward. `plain_level`: of
    torch's own export, for a model whose results torch cannot export: a loop over the images of a batch.
    """

    model: nn.Module
    task: Task
    images: Tensor
    second: Tensor | None
    level: str = "final"
    forward: Mapping[str, Any] = field(default_factory=dict)
    plain_level: str | None = None

    def inputs(self) -> list[GraphInput]:
        """The batches of 1 and of 3, and the second size."""
        cases = [*(self.images[:batch] for batch in BATCHES), *([] if self.second is None else [self.second])]
        return [GraphInput((), {"images": case.numpy()}) for case in cases]

    def axes(self, *, second: bool) -> dict[str, AxisRange]:
        """The batch is dynamic; with `second` the sizes, too."""
        axes = {"batch": AxisRange(min(BATCHES), 2, max(BATCHES))}
        for number, name in enumerate(("height", "width"), 2):
            side = self.images.shape[number]
            if second and self.second is not None:
                other = self.second.shape[number]
                axes[name] = AxisRange(min(side, other), side, LARGEST * max(side, other))
            else:
                axes[name] = AxisRange.fixed(side)
        return axes


Builder = Callable[[], OwnModel]


@dataclass(frozen=True)
class Kind:
    """A module of cases: its name, what its models are, what builds each of them, and the code that they are made of.

    `made_of`: files and folders of the repository, besides those of every kind.
    """

    name: str
    title: str
    cases: Mapping[str, Builder]
    made_of: tuple[str, ...]


def kinds() -> list[Kind]:
    """Every module in own_model_cases, the one with the fewest cases first.

    `CASES` names its builders, `MADE_OF` their code; the docstring's first line is the title. A builder imports the
    library that it needs, and downloads nothing.
    """
    return sorted(
        map(_kind, (ROOT / "benchmarks" / FOLDER).glob("*.py")), key=lambda kind: (len(kind.cases), kind.name)
    )


def _kind(path: Path) -> Kind:
    module = import_module(f"{FOLDER}.{path.stem}")
    title = (module.__doc__ or path.stem).splitlines()[0].rstrip(".")
    return Kind(path.stem, title, module.CASES, (*module.MADE_OF, f"benchmarks/{FOLDER}/{path.name}"))
