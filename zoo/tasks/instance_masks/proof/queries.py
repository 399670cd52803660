"""What a model whose queries have masks gives by itself, and what its instances are judged by."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

CLASSES, MASKS = "class_logits", "mask_logits"
CLASS_DIMS, MASK_DIMS = 3, 4
MODEL_OUTPUT = f'a dictionary with "{CLASSES}" [N, Q, C + 1] and "{MASKS}" [N, Q, h, w]'


class Queries(NamedTuple):
    """PyTorch's own of one image: `probabilities` float32 [Q, C] of the classes, and `masks` [Q, h, w], logits."""

    probabilities: NDArray[np.float32]
    masks: NDArray[np.float32]


def are_queries(output: object) -> bool:
    """Whether a model's output is MODEL_OUTPUT."""
    if not isinstance(output, Mapping):
        return False
    dims = [one.dim() if isinstance(one := output.get(name), Tensor) else 0 for name in (CLASSES, MASKS)]
    return dims == [CLASS_DIMS, MASK_DIMS]


def queries_of(output: Mapping[str, Any]) -> list[Queries]:
    """Those of each image of a batch."""
    probabilities = output[CLASSES].softmax(dim=-1)[..., :-1].cpu().numpy()
    return [Queries(*image) for image in zip(probabilities, output[MASKS].cpu().numpy(), strict=True)]
