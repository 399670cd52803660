"""The reference's own way from the unpatched model's outputs to a result in the image's coordinates.

The model runs four times on each image: on the reference's own tensor, on the tensor that production makes of the
image, and on two more roundings of the first. The second tells what the input does from what the deployment does, the
others what a rounding of the input does to this model (see zoo.input_kinds.image.input_rounding). It runs on more of
them where those explain too little.
Where the target has image_sizes, the model is given the image alone, without the padding around it.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pipeline.parity.gates import GRAPH
from zoo.families import family_of
from zoo.input_kinds.proof import Placed, input_proof
from zoo.model_run import model_run
from zoo.tasks import Result, Task
from zoo.tasks.proof import EagerResult, Rounding, proof_of

FEW, MANY = 2, 10  # roundings: of every image, and where those explain too little


@dataclass(frozen=True)
class ReferenceResult:
    """One image: by the reference's ``own`` preprocessing, and from the tensor of ``production``'s.

    ``rounding``: from a few other roundings of the reference's own tensor; None where the image is not resized.
    ``more_rounding``: runs the model on many. ``others``: the other choices of the model for the tensor of
    ``production``: the reason of each, and what runs the model that way.
    """

    placed: Any
    own: EagerResult
    production: EagerResult
    rounding: Rounding | None
    more_rounding: Callable[[], Rounding | None]
    others: Callable[[], Iterator[tuple[str, Callable[[], EagerResult]]]]

    @property
    def result(self) -> Result:
        """What PyTorch found by a path that shares no code with production."""
        return self.own.result


def reference_result(
    model: nn.Module,
    task: Task,
    rule: Any,
    forward: Mapping[str, Any],
    image: NDArray[Any],
    *,
    image_sizes: bool = False,
    near: float = GRAPH["logits"],
) -> ReferenceResult:
    """Run the model as its authors call it on one image, uint8 [h, w, 3] BGR, or one input of the task's kind.

    ``rule``: of the kind. ``forward``: the keyword arguments of the model's forward. ``image_sizes``: leave the padding
    out. ``near``: as graph_references takes it.
    """
    kind = task.kind
    proof = input_proof(kind)
    placed = proof.reference_input(image, rule)
    produced = np.empty(kind.slot_shape(rule, [image]), np.float32)
    kind.fill(rule, image, produced)

    def run(tensor: Tensor) -> EagerResult:
        return _run(model, task, forward, tensor, placed, image_sizes=image_sizes)

    own_result = run(placed.tensor[0])

    def rounding(count: int) -> Rounding | None:
        tensors = islice(proof.rounded(own_result.tensor, produced), count)
        results = [run(torch.from_numpy(tensor)) for tensor in tensors]
        explained = [proof_of(task).explained(own_result, each) for each in results]
        return Rounding(tuple(each.result for each in results), max(explained)) if results else None

    def by_production() -> EagerResult:
        return run(torch.from_numpy(produced))

    def others() -> Iterator[tuple[str, Callable[[], EagerResult]]]:
        choices = family_of(model).other_choices(model, by_production, near)
        return ((reason, choice) for _, reason, choice in choices)

    return ReferenceResult(
        placed,
        own=own_result,
        production=by_production(),
        rounding=rounding(FEW),
        more_rounding=lambda: rounding(MANY),
        others=others,
    )


def _run(
    model: nn.Module,
    task: Task,
    forward: Mapping[str, Any],
    tensor: Tensor,
    placed: Placed,
    *,
    image_sizes: bool,
) -> EagerResult:
    """On the valid part of a tensor of one input, whose frame is the tensor's, from the top left."""
    array: NDArray[np.float32] = tensor.numpy()
    valid = placed.valid(tensor.clone(), image_sizes=image_sizes)  # a model may change its input in place
    with model_run(valid), torch.inference_mode():
        result, logits = proof_of(task).eager_result(model, forward, valid, placed)
    return EagerResult(array, result, logits)
