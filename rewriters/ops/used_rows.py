"""zooport::used_rows and zooport::to_slots, a pair around what runs on rows (RoIs) of which many are empty.

    rows = used_rows(slots, used);  found = network(rows);  result = to_slots(found, used)

In PyTorch every row runs, so that shapes are fixed and no tracer meets a size that depends on the data. In ONNX the
rows that are not used are left out, so that nobody pays for them. Both give the same result, zeros where a slot is not
used, as long as the network in between treats each row by itself and asks nobody how many there are.

In ONNX Runtime's operators the used rows alone go in, and are scattered back into zeros; in standard operators every
slot runs, as in PyTorch:

    used_rows(slots, used) = Compress(slots, used)                           or  slots
    to_slots(rows, used)   = ScatterND(zeros[R, ...], NonZero(used), rows)   or  Where(used[R, 1, ...], rows, 0)
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import onnx
import torch
from torch import Tensor

from rewriters.ops.graph_builder import GraphBuilder
from rewriters.ops.operator import Operator, register
from zoo.dialect import RUNTIME, STANDARD


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


def used_rows_in_runtime_form(b: GraphBuilder, slots: str, used: str) -> str:
    """-> the rows that are used."""
    rows: str = b.Compress(slots, used, axis=0)
    return rows


def to_slots_in_runtime_form(b: GraphBuilder, rows: str, used: str) -> str:
    """-> [R, ...]."""
    index = b.Transpose(b.NonZero(used), perm=[1, 0])
    shape = b.Concat(b.Shape(used), b.Shape(rows, start=1), axis=0)
    zeros = b.Expand(b.CastLike(b.constant(0.0, np.float32), rows), shape)
    slots: str = b.ScatterND(zeros, index, rows)
    return slots


def used_rows_in_standard_form(b: GraphBuilder, slots: str, used: str) -> str:
    """-> all rows."""
    rows: str = b.Identity(slots)
    return rows


def to_slots_in_standard_form(b: GraphBuilder, rows: str, used: str) -> str:
    """-> [R, ...]."""
    one = onnx.numpy_helper.from_array(np.ones(1, dtype=np.int64))
    ones = b.ConstantOfShape(b.Shape(b.Shape(rows, start=1)), value=one)
    mask = b.Reshape(used, b.Concat(b.constant([-1]), ones, axis=0))
    zero = b.constant(0.0, np.float32)
    slots: str = b.CastLike(b.Where(mask, b.CastLike(rows, zero), zero), rows)  # Where takes no bool in ONNX Runtime
    return slots


def _any_number(tensors: Sequence[Any], _values: Mapping[str, Any]) -> Any:
    kind = tensors[0].type()
    known = kind.sizes()
    return kind.with_sizes([None, *known[1:]]) if known else kind


register(
    Operator(
        torch.ops.zooport.used_rows.default,
        _any_number,
        {RUNTIME: used_rows_in_runtime_form, STANDARD: used_rows_in_standard_form},
    )
)
register(
    Operator(
        torch.ops.zooport.to_slots.default,
        _any_number,
        {RUNTIME: to_slots_in_runtime_form, STANDARD: to_slots_in_standard_form},
    )
)
