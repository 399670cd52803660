"""Who says what a model with other precisions still is worth: the metric on labelled images, or matched results."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite
from pathlib import Path

from backends.model import Model
from pipeline.evaluation.input_policy import InputPolicy
from pipeline.evaluation.plan import data_key, make_gate_split
from pipeline.evaluation.reference import reference_model
from pipeline.inputs.named_input import NamedInput, input_of, read_input
from pipeline.inputs.parity_inputs import misfit
from pipeline.job.job import Job
from pipeline.parity.gates import merged_gates, metric_gate
from pipeline.proof.metric_gate import metric_judge
from pipeline.what_if.fp32_graph import Fp32Graph
from zoo.datasets import config_dataset
from zoo.errors import InputError
from zoo.input_kinds import InputKind
from zoo.progress import Progress
from zoo.tasks.proof import proof_of

WHOLE = 100.0  # points: the agreement of a model with itself


@dataclass(frozen=True)
class Judge:
    """`reference`: what PyTorch has, in `unit`; `value(candidate)`: what a candidate has. `name`: of the figure.

    `tolerance`: how far the two may be apart. `kind`: that of the `images`.
    """

    name: str
    unit: str
    kind: InputKind
    images: int
    reference: float
    tolerance: float
    value: Callable[[Model], float]


@contextmanager
def open_judge(
    kind: str,
    graph: Fp32Graph,
    precision: str,
    *,
    limit: int,
    given: Sequence[str | Path] = (),
    tolerance: float | None = None,
    progress: Progress,
) -> Iterator[Judge]:
    """A judge of a kind, which has run PyTorch's model.

    "metric": the config's, on the first `limit` images of its gate split, or of its data set; the tolerance is then the
    precision's gate where none is given. "matched": PyTorch's results, on the files of `given`, else on the first
    `limit` images of the data; there is no gate for that. The arguments are ones that check_judge takes. Raises
    InputError where PyTorch itself has nothing to lose, and for a file that is no image.
    """
    job, model, inputs = graph.job, graph.model, graph.job.task.kind.plural
    if kind == "metric":
        with metric_judge(job, model, progress, limit=limit) as (metric, reference, value):
            if not (isfinite(reference) and reference > 0):
                raise InputError(
                    f"{metric.main_key} of PyTorch itself is {reference:g} on {metric.images} {inputs}, so there is "
                    "nothing to lose; give a larger --limit"
                )
            gates = merged_gates(job.config.gates, precision, own=job.task.own_gates)
            gate = metric_gate(gates, metric.unit)
            yield Judge(metric.main_key, metric.unit, job.task.kind, metric.images, reference, tolerance or gate, value)
        return
    assert tolerance is not None  # check_judge
    input_policy = InputPolicy(job.preprocess, image_sizes=job.target.image_sizes)
    images = [image.value for image in (_files(job, given) if given else _of_data(job, limit))]
    with reference_model(job.config, job.task, model, input_policy, batch_size=1, device="cpu") as eager:
        expected = eager(images)
    proof = proof_of(job.task)
    yield Judge(
        "agreement with PyTorch",
        "points",
        job.task.kind,
        len(images),
        WHOLE,
        tolerance,
        lambda candidate: proof.agreement(expected, candidate(images)),
    )


def _files(job: Job, given: Sequence[str | Path]) -> Iterator[NamedInput]:
    kind = job.task.kind
    for path in given:
        image = read_input(kind, path)
        if fault := misfit(kind, image, job.preprocess, job.target):
            raise InputError(f"{kind.noun} {path}: {fault}; give another {kind.noun}")
        yield image


def _of_data(job: Job, limit: int) -> Iterator[NamedInput]:
    gate_split = job.config.gate_dataset is not None
    if gate_split:
        make_gate_split(job.config)
    dataset = config_dataset(job.config, data_key(job.config, gate_split=gate_split))
    for number in range(min(limit, len(dataset))):
        yield input_of(job.task.kind, dataset.image_item(number))
