"""torch.as_tensor and torch.tensor of sizes, which torchscript would write as the numbers of the traced example.

    tensor([[a, b], [c, d]]) = stack(stack(a, b), stack(c, d))

where a size that is read from a shape is a tensor without axes while torchscript traces. Source of the silent fault:
models whose grids are scaled by a tensor of the sizes of their feature maps (Deformable DETR) give other numbers at
another size.
"""

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import torch
from torch import Tensor

from rewriters.patching.rewriter import rewrites

REASON = "torchscript freezes the sizes in it: at another size the graph is wrong, without an error"


def of_sizes(
    original: Callable[..., Tensor],
    data: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **others: Any,
) -> Any:
    """As torch.tensor, where a list holds tensors without axes; all others are left to torch."""
    numbers = list(_numbers(data)) if isinstance(data, list | tuple) else []
    if others or requires_grad or not any(isinstance(number, Tensor) for number in numbers):
        return NotImplemented
    if not all(isinstance(number, int | float) or _has_no_axes(number) for number in numbers):
        return NotImplemented
    return _stacked(data).to(dtype=dtype or _dtype(numbers), device=device)


def _numbers(data: Any) -> Iterator[Any]:
    for entry in data:
        if isinstance(entry, list | tuple):
            yield from _numbers(entry)
        else:
            yield entry


def _has_no_axes(value: object) -> bool:
    return isinstance(value, Tensor) and value.dim() == 0


def _stacked(data: Any) -> Tensor:
    """In float64 where numbers of several kinds meet, which holds every size."""
    if not isinstance(data, list | tuple):
        return data if isinstance(data, Tensor) else torch.scalar_tensor(data, dtype=torch.float64)
    parts = [_stacked(entry) for entry in data]
    one_dtype = parts[0].dtype if len({part.dtype for part in parts}) == 1 else torch.float64
    return torch.stack([part.to(one_dtype) for part in parts])


def _dtype(numbers: list[Any]) -> torch.dtype:
    """As torch.tensor infers it: what the tensors' own dtypes and those of Python's numbers are promoted to."""
    kinds = [number.dtype if isinstance(number, Tensor) else torch.tensor(number).dtype for number in numbers]
    return reduce(torch.promote_types, kinds)


for _name in ("as_tensor", "tensor"):
    rewrites(torch, _name, reason=REASON, written_for="torch 2.15", exporter="torchscript")(of_sizes)
