"""The base of what proves a deployment of a task. Loaded where something is proved: it may need torch and scipy."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor, nn

from zoo.comparison import Findings, compare_tensor
from zoo.comparison.decision_rule import DecisionRule
from zoo.tasks.result import Result
from zoo.tasks.scatter import Histogram, Scatter
from zoo.tasks.task import Task

Array = NDArray[Any]
Arrays = Mapping[str, Array]
Gates = Mapping[str, float]
FULL_AGREEMENT = 100.0
"""What TaskProof.agreement gives for two models that find the same."""


@dataclass(frozen=True)
class EagerResult:
    """``tensor`` of one input, for images float32 [3, H, W], and what the unpatched model found in it.

    ``result``: in the image's coordinates.

    ``logits``: of the tensor, where a result is judged by what the model decided from; in the proof's own form.
    """

    tensor: NDArray[np.float32]
    result: Result
    logits: Any = None


class Rounding(NamedTuple):
    """What the rounding of an input does to the model itself (see zoo.input_kinds.image.input_rounding).

    ``results``: those of other roundings of the tensor. ``explained``: the largest of TaskProof.explained.
    """

    results: tuple[Result, ...]
    explained: float


class Difference(NamedTuple):
    """``image`` uint8 BGR, None where nothing differs; ``words``: the same for those who do not see it."""

    image: Array | None
    words: str


class Compared(NamedTuple):
    """One image of a deploy, by ``name``: PyTorch's result and the backend's, of the very same tensor."""

    name: str
    placed: Any
    reference: EagerResult
    candidate: Any


def proof_of(task: Task) -> "TaskProof":
    """The verbs that prove a deployment of this task, by its `proof_class`."""
    module, _, name = task.proof_class.partition(":")
    proof: TaskProof = getattr(import_module(module), name)(task)
    return proof


class TaskProof(ABC):
    """The verbs of a task that need its models or its tolerances. ``task``: the one that is proved."""

    model_output: ClassVar[str]
    """What the model's own forward gives, in words: "a list of detections"."""
    contracts: ClassVar[Mapping[str, Any]] = {}
    """By output level, the zoo.tasks.contract.Contract of a model whose family has none of its own."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def bound(self, runs: Callable[[], Iterable[tuple[int, Any]]]) -> Task:
        """The task with what only a run of its model tells, such as the names of its outputs. Here the task itself.

        ``runs``: runs the unpatched model when it is called; the size of each batch, and what the model's own forward
        gives. Batches of different content and one size of the inputs.
        Raises InputError where the model does not fit the task.
        """
        return self.task

    @abstractmethod
    def is_model_output(self, output: object) -> bool:
        """Whether the model's own forward gave what `model_output` says."""

    @abstractmethod
    def eager_result(
        self, model: nn.Module, forward: Mapping[str, Any], image: Tensor, placed: Any
    ) -> tuple[Result, Any]:
        """What the unpatched model finds in ``image`` float32 [3, h, w], in the image's coordinates, and its logits.

        ``image``: the valid part of a tensor of one input, see Placed; of another input kind than images the tensor of
        that. Shares no code with ``Task.results``.
        """

    def logits(self, output: Any, outputs: Arrays) -> Any:
        """What `compare_outputs` needs of the model's own ``output`` beside the contract's ``outputs``."""
        return None

    def is_blank(self, outputs: Arrays) -> bool:
        """Whether PyTorch found nothing in a batch, so that a fault of the machine might not show."""
        return False

    def exercised(self, outputs: Arrays) -> Iterator[tuple[str, str, int]]:
        """What PyTorch's outputs of one batch show of the model, for the report: what, which part, how often.

        Here nothing: of most models their family knows more (see Family.coverage).
        """
        yield from ()

    def explained(self, own: EagerResult, rounded: EagerResult) -> float:
        """How much of `logits` the rounding of the input explains; 0 where results are not judged by them."""
        return 0.0

    def compare_outputs(
        self,
        level: str,
        reference: Arrays,
        candidate: Arrays,
        gates: Gates,
        rule: DecisionRule,
        logits: Any = None,
    ) -> Findings:
        """Outputs of one batch, of PyTorch and of a backend, both of the contract of ``level`` and of the same names.

        ``gates``: those of the graph comparison. Here tensor by tensor, as parts of their range.
        """
        total = Findings(blank=True)
        for name in reference:
            total += compare_tensor(name, reference[name], candidate[name], gates["logits"])
        return total

    @abstractmethod
    def compare(
        self,
        expected: EagerResult,
        placed: Any,
        result: Any,
        gates: Gates,
        rule: DecisionRule,
        rounding: Rounding | None = None,
    ) -> Findings:
        """Two results of one image, in its coordinates; of one type.

        ``rounding``: where it may explain differences.
        """

    def way_back(self, geometry: Any, placed: Any, gates: Gates) -> Findings | None:
        """Whether results that no image has are mapped to the image rightly; None where nothing is made up."""
        return None

    def aligned(self, expected: EagerResult, placed: Any, result: Any) -> Result:
        """PyTorch's result as the comparison takes it beside the backend's, where several are right."""
        return expected.result

    @abstractmethod
    def difference(self, image: Array, reference: Any, candidate: Any, gates: Gates) -> Difference:
        """What differs between two results of one ``image``, uint8 [h, w, 3] BGR, drawn; no image for no difference.

        ``gates``: those of the pipeline comparison.
        """

    @abstractmethod
    def scatter(self, pairs: Sequence[Compared], gates: Gates) -> Scatter | Histogram:
        """The points of the report's plots, of all images together. ``gates``: those of the graph comparison."""

    @abstractmethod
    def agreement(self, expected: Sequence[Any], candidates: Sequence[Any]) -> float:
        """How far two models find the same, 0 to FULL_AGREEMENT: of all images together, both in one order.

        Needs no ground truth.
        """
