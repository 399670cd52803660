"""Comparison (a): identical tensors into the unpatched model and into the engine.

The reference runs first, before any export context is entered, and its outputs are kept.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from numpy.typing import NDArray
from torch import nn

from backends.pytorch.runner import PyTorchRunner
from backends.runner import Runner, in_float32
from pipeline.parity.gates import GRAPH
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.levels import compare_outputs
from pipeline.parity.other_choices import Answer, OtherChoice, compare_by_image
from pipeline.parity.records import Case
from zoo.comparison import Findings
from zoo.comparison.decision_rule import DecisionRule
from zoo.errors import ExportError, InputError, ZooportError
from zoo.families import contract_module, family_of
from zoo.model_run import ModelRunError
from zoo.tasks import Task
from zoo.tasks.proof import proof_of

Array = NDArray[Any]


@dataclass(frozen=True)
class GraphReference:
    """A case's input, and what the unpatched model gives for it.

    ``others``: its other choices, see Family.other_choices. ``rule``: where the case has thresholds of its own.
    """

    given: GraphInput
    answer: Answer
    others: Callable[[], Iterator[OtherChoice]]
    rule: DecisionRule | None = None

    @property
    def outputs(self) -> Mapping[str, Array]:
        """Of the answer."""
        return self.answer.outputs


def graph_references(
    model: nn.Module,
    task: Task,
    level: str,
    forward: Mapping[str, Any],
    inputs: Iterable[GraphInput],
    *,
    image_sizes: bool = False,
    layout: str = "zooport",
    rule: Any = None,
    near: float = GRAPH["logits"],
) -> list[GraphReference]:
    """Run the unpatched model in eager PyTorch on every case.

    Raises InputError where it has no such level, and where it refuses a case of another size than the first.

    ``image_sizes``: whether the inputs have them. ``layout``: of the outputs, see zoo.Target. ``rule``: the
    preprocessing, whose part inside the graph is run as well. ``near``: how far scores may be off by rounding, as a
    part of their range.
    """
    runner = eager_runner(model, task, level, forward, image_sizes=image_sizes, layout=layout, rule=rule)
    references: list[GraphReference] = []
    for entry in inputs:
        answer = model_answer(model, task, partial(_run, runner, entry, references))
        again = partial(model_answer, model, task, partial(runner.run, entry.arrays))
        references.append(GraphReference(entry, answer, partial(other_choices, model, again, near)))
    return references


def model_answer(model: nn.Module, task: Task, run: Callable[[], Mapping[str, Array]]) -> Answer:
    """What ``run`` gives, which calls the unpatched model, and the logits that its task is judged by."""
    with _own_output(model) as seen:
        outputs = run()
        return Answer(outputs, proof_of(task).logits(seen[-1], outputs))


def other_choices(model: nn.Module, run: Callable[[], Answer], near: float) -> Iterator[OtherChoice]:
    """Those of ``run``, which calls the model, for each image of its batch."""
    for image, reason, choice in family_of(model).other_choices(model, run, near):
        yield OtherChoice(image, reason, partial(_run_image, choice, image))


def _run_image(run: Callable[[], Answer], image: int) -> Answer:
    return run().of_image(image)


def _run(runner: PyTorchRunner, entry: GraphInput, before: Sequence[GraphReference]) -> dict[str, Array]:
    """The outputs of a case; what the model raises is a refusal where it takes the first case and this one is larger.

    Or smaller: a model may be built for one size, or take the multiples of some number.
    """
    try:
        return runner.run(entry.arrays)
    except Exception as error:
        cause = error.__cause__ if isinstance(error, ModelRunError) else error
        if isinstance(cause, ZooportError) or not before or entry.shape[1:] == before[0].given.shape[1:]:
            raise
        reason = next((line.strip() for line in str(cause).splitlines() if line.strip()), "")
        raise InputError(
            f"the model runs on a tensor {list(before[0].given.shape)} and refuses one {list(entry.shape)} "
            f"({type(cause).__name__}: {reason}); fix its sizes (leave out --dynamic and export.inputs of height and "
            "width), or say what divides them (the attribute size_divisor of the model)"
        ) from error


def eager_runner(
    model: nn.Module,
    task: Task,
    level: str,
    forward: Mapping[str, Any],
    *,
    image_sizes: bool,
    layout: str,
    rule: Any = None,
) -> PyTorchRunner:
    """The unpatched model with the inputs and outputs of the graph. InputError where it has no such level."""
    contract = contract_module(model, task, level, forward, layout, rule)
    specs = (*task.kind.specs(image_sizes=image_sizes), *contract.settings)
    return PyTorchRunner(contract, specs, contract.outputs(task, level), defaults=contract.defaults)


@contextmanager
def _own_output(model: nn.Module) -> Iterator[list[Any]]:
    """What the model's own forward gives, call by call: a segmentor's logits, before the contract takes the best."""
    seen: list[Any] = []
    hook = model.register_forward_hook(lambda _module, _args, output: seen.append(output))
    try:
        yield seen
    finally:
        hook.remove()


def graph_parity(
    runner: Runner,
    references: Sequence[GraphReference],
    task: Task,
    level: str,
    gates: Mapping[str, float],
    rule: DecisionRule,
) -> Iterator[Case]:
    """The same tensors into the engine; one case for each reference.

    Raises ExportError where the engine stops, with the cause that is likely where cases have several sizes.
    """
    sizes = {reference.given.shape[1:] for reference in references}
    for reference in references:
        try:
            candidate = runner.run_float32(reference.given.arrays)
        except ExportError as error:
            if len(sizes) == 1:
                raise
            raise ExportError(
                f"the graph stops at a tensor {list(reference.given.shape)}, which the model takes: the export may "
                "have kept a size of the traced image; give the other --exporter, or one size (leave out --dynamic and "
                f"export.inputs of height and width, and set preprocess.size) ({error})"
            ) from error
        own_rule = reference.rule or rule
        findings = _compared(reference, candidate, task, level, gates, own_rule)
        yield Case("graph", reference.given.images, reference.given.shape, findings)


def _compared(
    reference: GraphReference,
    candidate: Mapping[str, Array],
    task: Task,
    level: str,
    gates: Mapping[str, float],
    rule: DecisionRule,
) -> Findings:
    def compare(answer: Answer, theirs: Mapping[str, Array]) -> Findings:
        return compare_outputs(task, level, in_float32(answer.outputs), theirs, gates, rule, answer.logits)

    findings = compare(reference.answer, candidate)
    if not findings.failures or next(reference.others(), None) is None:
        return findings
    return compare_by_image(compare, reference.answer, candidate, reference.others)
