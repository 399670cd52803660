"""What the unpatched model gives for the inputs of a job's graph."""

from collections.abc import Iterable

from torch import nn

from backends.runner import Runner
from pipeline.job.job import Job
from pipeline.parity.graph_inputs import GraphInput
from pipeline.parity.graph_parity import GraphReference, eager_runner, graph_references


def job_runner(job: Job, model: nn.Module) -> Runner:
    """The model in eager PyTorch, with the inputs and outputs of the job's graph. Raises as eager_runner."""
    target = job.target
    return eager_runner(
        model,
        job.task,
        target.level,
        job.forward,
        image_sizes=target.image_sizes,
        layout=target.layout,
        rule=job.preprocess,
    )


def job_references(job: Job, model: nn.Module, inputs: Iterable[GraphInput]) -> list[GraphReference]:
    """What it gives for each case of the job's graph comparison. Raises as graph_references."""
    target = job.target
    return graph_references(
        model,
        job.task,
        target.level,
        job.forward,
        inputs,
        image_sizes=target.image_sizes,
        layout=target.layout,
        rule=job.preprocess,
        near=job.gates["graph"]["logits"],
    )
