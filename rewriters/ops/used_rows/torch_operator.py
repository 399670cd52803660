"""The pair in eager PyTorch: every row goes in, and those that are not used come out as zeros."""

import torch
from torch import Tensor


@torch.library.custom_op("zooport::used_rows", mutates_args=())
def used_rows(slots: Tensor, used: Tensor) -> Tensor:
    """slots [R, ...], used bool [R] -> the rows to run, in order; [R, ...] in PyTorch, as many as are used in ONNX."""
    return slots.clone()


@torch.library.custom_op("zooport::to_slots", mutates_args=())
def to_slots(rows: Tensor, used: Tensor) -> Tensor:
    """What came of the rows that `used_rows` gave, and the same `used` bool [R] -> [R, ...], zeros in empty slots.

    Rows are float32 or bool: TensorRT's form counts in float32. Raises TypeError for others.
    """
    if rows.dtype not in (torch.float32, torch.bool):
        raise TypeError(f"to_slots: rows are {rows.dtype}, expected float32 or bool")
    return torch.where(used.reshape(-1, *[1] * (rows.dim() - 1)), rows, torch.zeros_like(rows))


@used_rows.register_fake
@to_slots.register_fake
def _(rows: Tensor, used: Tensor) -> Tensor:
    return torch.empty_like(rows)
