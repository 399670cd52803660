"""The inverse of the sigmoid with one clamp for each side of its fraction."""

from collections.abc import Callable

import torch
from torch import Tensor

REASON = "two clamps in a row, which onnxscript 0.7.2 joins to one whose bounds are not in the graph"


def inverse_sigmoid(_original: Callable[..., Tensor], x: Tensor, eps: float = 1e-5) -> Tensor:
    """log(x / (1 - x)) of x clamped to 0..1, with both parts of the fraction at least `eps`."""
    return torch.log(x.clamp(min=eps, max=1.0) / (1 - x).clamp(min=eps, max=1.0))
