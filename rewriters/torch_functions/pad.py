"""torch.nn.functional.pad: what it cuts off as a step of its own, where it also reflects, repeats or wraps.

Negative padding cuts. torch reflects and repeats what was there before the cut, ONNX Runtime what is left of it, and
refuses where too little is left; torchscript's translation of circular padding takes a cut for a slice from the end.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from rewriters.patching.rewriter import rewrites


@rewrites(
    torch.nn.functional,
    "pad",
    reason="circular padding that also cuts is wrong or refused by torchscript, and reflection that also cuts is "
    "refused by ONNX Runtime where the cut leaves too little",
    written_for="torch 2.15",
)
def pad_then_cut(
    original: Callable[..., Tensor],
    input: Tensor,  # noqa: A002  # the name that callers may give
    pad: Sequence[Any],
    mode: str = "constant",
    value: float | None = None,
) -> Any:
    """As torch.nn.functional.pad; circular padding wraps what the cut leaves, the other modes cut what they padded."""
    if mode == "constant" or not all(isinstance(size, int) for size in pad) or min(pad, default=0) >= 0:
        return NotImplemented
    added, cut = [max(size, 0) for size in pad], [min(size, 0) for size in pad]
    if mode == "circular":
        rest = original(input, cut)
        return original(rest, added, mode) if any(added) else rest
    return original(original(input, added, mode) if any(added) else input, cut)
