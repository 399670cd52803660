"""The task of a model that was built: with what only a run of it tells."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch import nn

from pipeline.inputs.named_input import NamedInput
from pipeline.parity.graph_inputs import batch_sizes, stacked
from zoo.families import first_step
from zoo.model_run import model_run
from zoo.target import Target
from zoo.tasks import Task
from zoo.tasks.proof import proof_of


def bound_task(
    task: Task,
    model: nn.Module,
    forward: Mapping[str, Any],
    images: Callable[[], Sequence[NamedInput]],
    target: Target,
    rule: Any,
) -> Task:
    """``model``: unpatched, in eval mode. ``images``: gives two or more of different content; ``rule``: the kind's.

    Raises InputError, see TaskProof.bound.
    """

    def runs() -> Iterator[tuple[int, Any]]:
        """The first image in the smallest batch, and the last ones in the next larger one, or in one of that size."""
        inputs, sizes = images(), batch_sizes(target.batch)[:2]
        step = first_step(model, task, rule)
        device = next((parameter.device for parameter in model.parameters()), None)
        for order, size in zip((1, -1), (*sizes, sizes[0]), strict=False):
            chosen = [inputs[::order][place % len(inputs)] for place in range(size)]
            case = stacked(task.kind, chosen, target.preferred, rule, image_sizes=target.image_sizes)
            first, *others = (torch.from_numpy(array).to(device) for array in case.arrays.values())
            with model_run(first, *others), torch.inference_mode():
                output = model(first if step is None else step.to(device)(first), *others, **forward)
            yield size, output

    return proof_of(task).bound(runs)
