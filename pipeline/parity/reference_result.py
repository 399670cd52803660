"""The reference's own way from the unpatched model's outputs to a result in the image's coordinates.

The model runs four times on each image: on the reference's own tensor, on the tensor that production makes of the
image, and on two more roundings of the first. The second tells what the input does from what the deployment does, the
others what a rounding of the input does to this model (see input_rounding.py).
Where the target has image_sizes, the model is given the image alone, without the padding around it.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from pipeline.parity.input_rounding import rounded_inputs
from zoo.input_kinds.image.reference_input import ReferenceInput
from zoo.tasks import Result, Task
from zoo.tasks.proof import EagerResult, Rounding, proof_of

EQUAL = 1e-6  # of 0..1: float32's own rounding, where the image was not resized


@dataclass(frozen=True)
class ReferenceResult:
    """One image: by the reference's ``own`` preprocessing, from the tensor of ``production``'s, and ``rounded``.

    ``rounded``: from other roundings of the reference's own tensor; empty where the image is not resized.
    ``explained``: how much of the logits these roundings explain (see TaskProof.explained).
    """

    placed: ReferenceInput
    own: EagerResult
    production: EagerResult
    rounded: tuple[Result, ...] = ()
    explained: float = 0.0

    @property
    def result(self) -> Result:
        """What PyTorch found by a path that shares no code with production."""
        return self.own.result

    @property
    def rounding(self) -> Rounding | None:
        """What the rounding of the input does; None where the image is not resized."""
        return Rounding(self.rounded, self.explained) if self.rounded else None


def reference_result(
    model: nn.Module,
    task: Task,
    preprocess: Mapping[str, Any],
    forward: Mapping[str, Any],
    image: NDArray[Any],
    *,
    image_sizes: bool = False,
) -> ReferenceResult:
    """Run the model as its authors call it on one image, uint8 [h, w, 3] BGR.

    ``forward``: the keyword arguments of the model's forward. ``image_sizes``: leave the padding out.
    """
    placed = task.kind.reference_input(image, preprocess)
    rule = task.kind.rule(preprocess)
    produced = np.empty((3, *rule.geometry(*image.shape[:2]).tensor_size), np.float32)
    rule.run(image, produced)
    valid = placed.resized if image_sizes else placed.tensor.shape[2:]
    own_result = _run(model, task, forward, placed.tensor[0], placed, valid)
    tensors = (
        ()
        if np.allclose(own_result.tensor, produced, rtol=0, atol=EQUAL)
        else rounded_inputs(own_result.tensor, produced)
    )
    rounded, explained = [], 0.0
    for tensor in tensors:
        eager = _run(model, task, forward, torch.from_numpy(tensor), placed, valid)
        rounded.append(eager.result)
        explained = max(explained, proof_of(task).explained(own_result, eager))
    return ReferenceResult(
        placed,
        own=own_result,
        production=_run(model, task, forward, torch.from_numpy(produced), placed, valid),
        rounded=tuple(rounded),
        explained=explained,
    )


def _run(
    model: nn.Module,
    task: Task,
    forward: Mapping[str, Any],
    tensor: Tensor,
    placed: ReferenceInput,
    valid: tuple[int, ...],
) -> EagerResult:
    """On the part ``valid`` (h, w) of the tensor [3, H, W]; its frame is the tensor's, from the top left."""
    array: NDArray[np.float32] = tensor.numpy()
    region = tensor[:, : valid[0], : valid[1]]
    with torch.inference_mode():
        result, logits = proof_of(task).eager_result(model, forward, region, placed)
    return EagerResult(array, result, logits)
