"""torch.linspace of sizes, which torchscript divides by zero for one step, and dynamo freezes.

    y[i] = start + i * step             for the first half
    y[i] = end - (steps - 1 - i) * step for the second,    step = (end - start) / (steps - 1)

as torch computes it; of one step, start. torchscript's own translation has 0 / 0 there, which is no number: a feature
map of one row, as the last level of Deformable DETR has it of a small image.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from rewriters.patching.rewriter import rewrites

TRACED = (Tensor, torch.SymInt, torch.SymFloat)


@rewrites(
    torch,
    "linspace",
    reason="torchscript divides by zero where the number of steps is 1, so that everything behind it is no number; "
    "dynamo freezes a number of steps that is a size, and says nothing",
    written_for="torch 2.15",
)
def linspace_of_sizes(
    _original: Callable[..., Tensor],
    start: Any,
    end: Any,
    steps: Any,
    dtype: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    **others: Any,
) -> Any:
    """As torch.linspace, of numbers, sizes, and tensors without axes. Of numbers alone torch's own, but for 1 step."""
    is_traced = any(isinstance(value, TRACED) for value in (start, end, steps))
    dtype = dtype or torch.get_default_dtype()
    if others or requires_grad or not dtype.is_floating_point or (not is_traced and steps != 1):
        return NotImplemented
    index = torch.arange(steps, device=device)
    start, end, steps = (
        value if isinstance(value, Tensor) else torch.scalar_tensor(value) for value in (start, end, steps)
    )
    start, end, last = start.to(dtype), end.to(dtype), steps.to(dtype) - 1
    step = (end - start) / last.clamp(min=1)
    index = index.to(dtype)
    is_first_half = index < ((last + 1) / 2).floor().clamp(min=1)
    return torch.where(is_first_half, start + index * step, end - (last - index) * step)
