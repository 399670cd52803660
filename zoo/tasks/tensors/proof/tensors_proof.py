"""How a deployment of any module is proved: output by output."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
from torch import Tensor, nn

from zoo.comparison import Findings
from zoo.comparison.decision_rule import DecisionRule
from zoo.errors import InputError
from zoo.tasks.proof import FULL_AGREEMENT, Array, Arrays, Compared, Difference, EagerResult, Gates, Rounding, TaskProof
from zoo.tasks.result import Result
from zoo.tasks.scatter import Histogram
from zoo.tasks.task import Task
from zoo.tasks.tensors.panels import apart
from zoo.tasks.tensors.proof.comparing import compare_arrays, errors
from zoo.tasks.tensors.proof.contracts import TensorsFinal
from zoo.tasks.tensors.proof.learning import check_outputs
from zoo.tasks.tensors.proof.named_outputs import named_outputs, tensors
from zoo.tasks.tensors.proof.ranges import error_counts, relative_distance
from zoo.tasks.tensors.result import TensorsResult
from zoo.tasks.tensors.task import Tensors


class TensorsProof(TaskProof):
    """Of tensors by name."""

    model_output: ClassVar[str] = "tensors by name, a tuple of tensors or one tensor"
    contracts: ClassVar[Mapping[str, Any]] = {"final": TensorsFinal}
    task: Tensors

    def bound(self, runs: Callable[[], Iterable[tuple[int, Any]]]) -> Task:
        """With the names of the outputs that are kept."""
        outputs = [(batch, tensors(output, self.task.keep)) for batch, output in runs()]
        check_outputs(outputs, [spec.name for spec in self.task.kind.inputs], self.task.rows)
        return type(self.task)(self.task.classes, keep=tuple(outputs[0][1]), rows=self.task.rows)

    def is_model_output(self, output: object) -> bool:
        """Parts that are tensors."""
        try:
            return bool(tensors(output, self.task.keep))
        except InputError:
            return False

    def eager_result(
        self, model: nn.Module, forward: Mapping[str, Any], image: Tensor, placed: Any
    ) -> tuple[Result, None]:
        """The module's own tensors of a batch of one."""
        parts = named_outputs(model(image[None], **forward), self.task.keep)
        return TensorsResult({name: part[0].numpy() for name, part in parts.items()}), None

    def exercised(self, outputs: Arrays) -> Iterator[tuple[str, str, int]]:
        """Whether each output varies: one that never does shows nothing of the module."""
        for name, array in outputs.items():
            yield "outputs that vary", name, int(array.size > 0 and bool((array != array.flat[0]).any()))

    def is_blank(self, outputs: Arrays) -> bool:
        """Each output has one value alone."""
        return not any(count for _, _, count in self.exercised(outputs))

    def compare_outputs(
        self,
        level: str,
        reference: Arrays,
        candidate: Arrays,
        gates: Gates,
        rule: DecisionRule,
        logits: Array | None = None,
    ) -> Findings:
        """Output by output; those of `rows` as a set."""
        return compare_arrays(reference, candidate, gates, self.task.rows)

    def compare(
        self,
        expected: EagerResult,
        placed: Any,
        result: Any,
        gates: Gates,
        rule: DecisionRule,
        rounding: Rounding | None = None,
    ) -> Findings:
        """Each output may be off by as many times what ``rounding`` moves it in PyTorch as the gate "moved" says."""
        ours, theirs = _batch(expected.result), _batch(result)
        if ours.keys() != theirs.keys():
            return Findings.broken((f"the backend gives {', '.join(theirs)}, PyTorch {', '.join(ours)}",))
        explained: dict[str, float] = {}
        for other in rounding.results if rounding is not None else ():
            for name, error in errors(ours, _batch(other), gates, self.task.rows).items():
                explained[name] = max(explained.get(name, 0.0), gates["moved"] * error)
        return compare_arrays(ours, theirs, gates, self.task.rows, explained)

    def difference(self, image: Array, reference: Any, candidate: Any, gates: Gates) -> Difference:
        """A panel for each output that differs."""
        return Difference(*apart(image, reference, candidate))

    def scatter(self, pairs: Sequence[Compared], gates: Gates) -> Histogram:
        """How many values of all outputs are how far apart."""
        results: Any = [(pair.reference.result, pair.candidate) for pair in pairs]
        unit, counts = error_counts([(ours[name], theirs[name]) for ours, theirs in results for name in ours])
        total = Findings()
        for ours, theirs in results:
            total += compare_arrays(_batch(ours), _batch(theirs), gates, self.task.rows)
        words = "; ".join(f"{each.name}: {each.max_error or 0:.3g} {each.unit} at most" for each in total.figures)
        return Histogram(Counter(counts), f"{unit:g} of the output's range", words, "Differences")

    def agreement(self, expected: Sequence[Any], candidates: Sequence[Any]) -> float:
        """One minus the relative distance of each output, on average, never below 0."""
        shared = [
            max(0.0, 1.0 - relative_distance(ours[name], theirs[name]))
            for ours, theirs in zip(expected, candidates, strict=True)
            for name in ours
        ]
        return FULL_AGREEMENT * float(np.mean(shared))


def _batch(result: Any) -> Arrays:
    """A result as the outputs of a batch of one."""
    return {name: array[None] for name, array in result.items()}
