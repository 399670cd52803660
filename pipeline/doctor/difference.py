"""What a model gives in eager PyTorch, and how far a file's outputs are from it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.utils._pytree import tree_leaves

TOLERANCE = 1e-4  # of an output: what another order of float32 arithmetic may change
IN_HALF = 5e-2  # in float16: ONNX Runtime computes layers in float32 that PyTorch rounds


class Difference(NamedTuple):
    """`part`: of floats, of the output's largest number; of whole numbers, of how many there are. `allowed`: of it."""

    part: float = 0.0
    allowed: float = TOLERANCE

    @property
    def good(self) -> bool:
        """Whether arithmetic alone explains it."""
        return self.part <= self.allowed


NO_DIFFERENCE = Difference()


def eager_outputs(module: nn.Module, feed: Mapping[str, Tensor]) -> list[NDArray[Any]]:
    """The tensors among what the module gives, in order, as the exporters flatten them."""
    with torch.no_grad():
        outputs = module(*(tensor.clone() for tensor in feed.values()))
    leaves = [leaf.detach() for leaf in tree_leaves(outputs) if isinstance(leaf, Tensor)]
    return [
        (leaf.float() if leaf.dtype is torch.bfloat16 else leaf).numpy() for leaf in leaves
    ]  # numpy has no bfloat16


def difference(expected: Sequence[NDArray[Any]], actual: Sequence[Any]) -> Difference:
    """The largest of all outputs, by what is allowed; infinite for another shape or dtype, or for NaN in other places.

    Whole numbers may differ, for in a map of labels a near tie may fall the other way.
    """
    if len(expected) != len(actual):
        return Difference(float("inf"))
    differences = [
        Difference(_part(one, np.asarray(two)), IN_HALF if one.dtype == np.float16 else TOLERANCE)
        for one, two in zip(expected, actual, strict=True)
    ]
    return max(differences, key=lambda one: one.part / one.allowed, default=NO_DIFFERENCE)


def _part(one: NDArray[Any], two: NDArray[Any]) -> float:
    if one.shape != two.shape or one.dtype != two.dtype:
        return float("inf")
    if one.dtype.kind != "f":
        return float((one != two).mean()) if one.size else 0.0
    finite = np.isfinite(one)
    if not np.array_equal(one[~finite], two[~finite], equal_nan=True) or not np.isfinite(two[finite]).all():
        return float("inf")
    gap = np.abs(one[finite].astype(np.float64) - two[finite]).max(initial=0.0)
    return float(gap / max(np.abs(one[finite]).max(initial=0.0), 1e-12))
